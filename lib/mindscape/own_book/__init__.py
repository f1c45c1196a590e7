"""One's own book: a few questions, plain search, four memories, and what may be believed of each.

    book        a document cut once: passages, and the units of the four memories
    look        plain search: vectors and words, and what a memory adds to it
    memories    the mindscape, the signature, the document memory, the graph of a question
    check       whether a memory finds as much as plain search, on queries made from the book's own sentences
    sources     whether an answer rests on the passage that is quoted for it
    estimate    calls, tokens, dollars and seconds, before anything is asked
    run         all of it, one stage after the other
    report      what came of it as text and as a page

`python -m mindscape ask BOOK "question"` is this package from a shell. Taught in notebook 52_your_own_book.
"""
