"""Where the course's documents come from: Shakespeare's plays (`shakespeare`), and any book of your own (`own`).

A corpus gives `mindscape.text.Document`s. Taught in notebook 00_start_here.
"""
