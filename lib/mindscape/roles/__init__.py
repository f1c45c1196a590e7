"""What the papers ask a language model to do, one role a name; see `base`. Taught in notebook 01_the_reader."""

from mindscape.roles.base import Example, Role

ROLES: dict[str, Role] = {}

__all__ = ["ROLES", "Example", "Role"]
