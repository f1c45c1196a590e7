"""Where the course's documents come from: a procedural novelist (`storyworld`), Shakespeare's plays (`shakespeare`), files of
published benchmarks (`benchmarks`), and any book of your own (`own`).

A corpus gives `mindscape.text.Document`s. Taught in notebook 00_start_here.
"""
