"""The thin shared library of the mindscape notebooks.

One floor that everything stands on (text, assets, llm, encoders, index, attention, metrics, results, plots) and one room a
paper. A method is shown by hand in a notebook first; what is here is plumbing and the fast versions. Beside it stand the
packages `storyworld` (novels whose gold is known) and `benchmarks` (official files).
"""

import warnings

# tqdm, imported by others, asks for widgets that the notebooks do without; their stored outputs hold no warnings.
warnings.filterwarnings("ignore", message="IProgress not found")
