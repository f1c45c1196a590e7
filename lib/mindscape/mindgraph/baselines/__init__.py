"""The five methods that MindGraph is compared with, behind one interface (MindGraph, sections 2.2 and 4.2).

    method(question, document, llm, budget) -> Answer

`METHODS` has them by the paper's names. Prompts are our own, in English and Chinese; each module says what it decides where the
paper is silent. Taught in notebook 32_long_reason.

reading    Direct, the whole text in one call; Chain-of-Agents, a summary handed from worker to worker; GAM, pages with notes
graphrag   a graph of entities, reports on its communities, map and reduce
rlm        Python over the text, written by the model; `sandbox` runs it, `confined` is the other side
"""

from mindscape.mindgraph.asking import Method
from mindscape.mindgraph.baselines import graphrag, reading, rlm

METHODS: dict[str, Method] = {
    "Direct": reading.direct,
    "GraphRAG": graphrag.answer_by_reports,
    "CoA": reading.chain_of_agents,
    "GAM": reading.gam,
    "RLM": rlm.answer_by_code,
}
