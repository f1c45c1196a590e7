"""MoM: a document memory of outline, core content and atomic chunks (notebooks 40 to 43)."""
