"""The papers' own numbers, as typed tables out of `data/paper`.

Taught in notebook 10. Numbers are as printed; nothing is computed from them here.
"""

import pandas as pd
import yaml

from mindscape import paths
from mindscape.errors import InputError


def table(name: str) -> pd.DataFrame:
    """A table of a paper; `frame.attrs` holds its `paper` and `place`.

    Raises InputError for an unknown name, or a column that is missing or of another type.

    >>> table("mia_rag_table6").loc[0, "recall@10"]
    np.float64(88.09)
    """
    index = yaml.safe_load(paths.data("paper", "index.yaml").read_text(encoding="utf-8"))
    if name not in index:
        raise InputError(f"no table {name!r} in data/paper; there are {', '.join(index)}")
    about = index[name]
    try:
        frame = pd.read_csv(paths.data("paper", f"{name}.csv")).astype(about["columns"])[list(about["columns"])]
    except (KeyError, ValueError) as error:
        raise InputError(f"data/paper/{name}.csv does not fit its columns in index.yaml: {error}") from error
    frame.attrs.update(paper=about["paper"], place=about["place"])
    return frame
