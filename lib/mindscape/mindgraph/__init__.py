"""MindGraph: a text as a graph of typed notes, each with its place, built block by block (notebooks 30 to 32)."""
