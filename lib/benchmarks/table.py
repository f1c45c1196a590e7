"""The table of benchmarks: what reads each, and what table.toml says of its files, licence, scores and prompts.

Meant for notebooks 10 and on, pointed at a real benchmark.
"""

import tomllib
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from benchmarks import (
    crud_rag,
    detectiveqa,
    infinitebench,
    longbench,
    loogle,
    narrativeqa,
    nocha,
    novelhopqa,
    omnieval,
    qmsum,
)
from benchmarks.shapes import Benchmark

READ: dict[str, dict[str, Any]] = {
    "narrativeqa": {"read": narrativeqa.read_narrativeqa, "parts": narrativeqa.PARTS},
    "narrativeqa-hub": {"read": narrativeqa.read_hub, "parts": narrativeqa.PARTS},
    "nocha": {"read": nocha.read_nocha},
    "detectiveqa": {"read": detectiveqa.read_detectiveqa, "parts": detectiveqa.PARTS},
    "infinitebench": {"read": infinitebench.read_infinitebench, "parts": infinitebench.PARTS},
    "novelhopqa": {"read": novelhopqa.read_novelhopqa, "parts": novelhopqa.PARTS},
    "longbench-v2": {"read": longbench.read_v2, "parts": longbench.PARTS},
    "multifieldqa-zh": {"read": longbench.read_multifieldqa},
    "loogle": {"read": loogle.read_loogle, "parts": loogle.PARTS},
    "qmsum": {"read": qmsum.read_qmsum, "parts": qmsum.PARTS},
    "crud-rag": {"read": crud_rag.read_crud_rag, "parts": crud_rag.PARTS, "collection": crud_rag.articles},
    "omnieval": {"read": omnieval.read_omnieval, "parts": omnieval.PARTS, "collection": omnieval.passages},
}
SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TABLE = TypeAdapter(tuple[Benchmark, ...]).validate_python(
    [{"name": name, **READ[name], **SAID[name]} for name in READ]
)
