"""`mindscape.signature.evaluation` with up to 16 replies written side by side, where the command has 8 and no option for it.

    python build/drafts/jobs7.py answer --ranks ... --out ...

Nothing else differs. To be thrown away once the command has `--batch`.
"""

from functools import partial

from mindscape import llm
from mindscape.signature import agent, evaluation

BATCH = 16


def model(given):
    return llm.load(given.llm, batch_size=BATCH, batch_tokens=2 * 16_384, **({"adapter": given.adapter} if given.adapter else {}))


evaluation._model = model
agent.run = partial(agent.run, batch=BATCH)

if __name__ == "__main__":
    evaluation.main()
