"""Texts that others wrote: Shakespeare's plays (`shakespeare`), and any book of your own (`own`). Novels that the kit writes
are in the package `storyworld`, files of published benchmarks in `benchmarks`.

A corpus gives `mindscape.text.Document`s. Taught in notebook 00_start_here.
"""
