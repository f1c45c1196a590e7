"""MiA-RAG: a hierarchical summary, the mindscape, conditions retriever and generator (notebooks 10 to 16)."""
