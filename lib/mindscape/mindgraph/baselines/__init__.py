"""The five methods that MindGraph is compared with, behind one interface (MindGraph, sections 2.2 and 4.2).

    answer(question, document, llm, budget) -> Answer

`METHODS` has them by the paper's names. Prompts are our own, in English and Chinese; each module says what it decides where the
paper is silent. Taught in notebook 32_long_reason.

direct            the whole text in one call
graphrag          a graph of entities, reports on its communities, map and reduce
chain_of_agents   a summary that is handed from worker to worker
gam               pages with notes, and a researcher
rlm               Python over the text, written by the model; `sandbox` runs it, `confined` is the other side
asking            what they share
estimates         what they take, before the first call
"""

from mindscape.mindgraph.answering import Method
from mindscape.mindgraph.baselines import chain_of_agents, direct, gam, graphrag, rlm

METHODS: dict[str, Method] = {
    "Direct": direct.answer,
    "GraphRAG": graphrag.answer,
    "CoA": chain_of_agents.answer,
    "GAM": gam.answer,
    "RLM": rlm.answer,
}
