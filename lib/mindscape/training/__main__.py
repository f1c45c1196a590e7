"""Train an adapter: python -m mindscape.training NAME [--out FOLDER]. Without a name, list the recipes; with --missing in its
place, train those that data/adapters lacks.

The same call goes on after a kill. On several GPUs: accelerate launch -m mindscape.training NAME.
"""

import argparse
import sys

from mindscape.environment import give_memory_back
from mindscape.errors import MindscapeError
from mindscape.training import recipes


def main(arguments: list[str] | None = None) -> None:
    """Read the arguments and train, or list. An error of ours is one line, and the exit code is 1."""
    parser = argparse.ArgumentParser(prog="python -m mindscape.training", description="Train an adapter by its recipe.")
    parser.add_argument("name", nargs="?", help="a recipe; without one they are listed")
    parser.add_argument("--out", default="", help="folder of log, checkpoint and adapter; build/adapters/NAME by default")
    parser.add_argument("--dtype", default="", help="precision of base and products in the place of the recipe's")
    parser.add_argument("--recipes", default=str(recipes.FILE), help="a file of recipes; the kit's by default")
    parser.add_argument("--missing", action="store_true", help="train the adapters that data/adapters lacks")
    given = parser.parse_args(arguments)
    give_memory_back()
    try:
        if given.missing:
            recipes.complete(given.recipes)
        elif given.name:
            recipe = recipes.read_recipe(given.name, given.recipes)
            print(recipes.train_recipe(recipe, given.out, given.dtype, given.recipes))
        else:
            for name, recipe in recipes.every(given.recipes).items():
                print(f"{name:24} {recipe.cost:46} {recipe.about}")
    except MindscapeError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
