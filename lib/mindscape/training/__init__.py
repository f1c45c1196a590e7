"""Training of adapters: a loop that can be killed and goes on, and supervised fine-tuning on it.

`Settings` say how, `train` tunes a language model on prompts and replies; `loop.fit` is the loop itself, for other losses.
`python -m mindscape.training NAME` trains an adapter by its recipe (`mindscape.training.recipes`). Runs on a laptop's CPU, and
unchanged on a GPU or, under `accelerate launch`, on several. Taught in notebook 01_the_reader.
"""

from mindscape.training.loop import Settings, fit
from mindscape.training.sft import reply_loss, train

__all__ = ["Settings", "fit", "reply_loss", "train"]
