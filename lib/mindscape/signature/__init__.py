"""MiA-Signature: the part of a mindscape that a question wakes (notebooks 20 to 23)."""
