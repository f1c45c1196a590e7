"""Texts with offsets: documents, chunks, sentences, and where a quote stands.

Every place in a text is a pair of character offsets into `Document.text`; nothing downstream copies or changes text.
Three small modules: `documents` (what a text is), `splitting` (how it is cut), `quotes` (how a quote or a name is
found again).
Taught in notebooks 00_start_here and 10_hierarchical_summaries.
"""

from mindscape.text.documents import Chunk, Document, Span
from mindscape.text.quotes import locate, mentions
from mindscape.text.splitting import Tokenizer, laid_out, sentences, split_sentences, split_tokens, token_ids, windows

__all__ = [
    "Chunk", "Document", "Span", "Tokenizer", "laid_out", "locate", "mentions", "sentences", "split_sentences", "split_tokens",
    "token_ids", "windows",
]  # fmt: skip
