"""An agent that searches with a question and a signature, and rewrites both (MiA-Signature, 3.2.3, 3.2.4, Algorithm 1, D, E).

From a first signature (Eq. 3), at most N_stop = 3 times: retrieve P_t with (q_t, sigma_t) by Eq. 4; show it, the summaries H_t
of its sessions and the notes E_t so far to a model in the role `update`, which replies with a decision, notes, and to go on a
query q_t+1 and a signature sigma_t+1 (Eq. 5). On ANSWER, or when no step is left, a generator answers from the last P_t, with
the signature, with the notes, with both or with neither (Eq. 6, Table 2). Without rewriting q_t stays q and the rest evolves
(appendix D); without a signature neither retriever nor models see one, and the query is all that steers ("Agent w/o Sig.").

`run` takes questions some at a time, step by step together, so that a model on this machine reads several prompts at once.
A run that was killed, or whose budget was spent, finds the replies and rankings that it had in the store (`mindscape.store`).

Where the paper is silent: the notes of a reply take the place of the older ones, as its prompt asks them to be kept; a reply
that cannot be read is asked for again, once by default, and then the agent answers from what it has; a signature that comes
with the last step's REFINE is shown to the generator, as line 11 says, and never searched with. The session summaries stay
in the prompt without a signature. Taught in notebook 23_signature_agent.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Literal

from mindscape.ask import Budget, Meter, ask
from mindscape.errors import one_of, require
from mindscape.llm.base import LLM, form_of
from mindscape.question import Answer
from mindscape.roles import NONE, SAY, UPDATE, Update, letters
from mindscape.signature.memory import Posed
from mindscape.signature.rag import ALPHA, WAYS, K, Shelf, Signature, answers, fitted

# What the generator is given beside the chunks (Table 2): the signature? the notes?
INPUTS = {"chunks": (False, False), "sig": (True, False), "evi": (False, True), "sig_evi": (True, True)}


@dataclass(frozen=True)
class Settings:
    """How the agent works; the defaults are the paper's (section 4.2), the last three ours.

    `steps`: N_stop. `top`: chunks of a step. `k`, `way`: size of the first signature and how it is picked, see `Shelf.choose`.
    `alpha`: of Eq. 4. `signature`, `rewrite`: whether there is one, whether the query changes. `inputs`: some of `INPUTS`;
    by default all that there are. `tokens`: of an update, at most. `retries`: of a reply that cannot be read.
    """

    steps: int = 3
    top: int = 20
    k: int = K
    way: str = "first_k"
    alpha: float = ALPHA
    signature: bool = True
    rewrite: bool = True
    inputs: tuple[str, ...] = ()
    tokens: int = 512
    retries: int = 1

    def __post_init__(self):
        possible = [name for name, (signature, _) in INPUTS.items() if self.signature or not signature]
        object.__setattr__(self, "inputs", tuple(self.inputs) or tuple(possible))
        without = "" if self.signature else " without a signature"
        for name in self.inputs:
            require(name in possible, f"inputs={name!r}{without}: expected some of {', '.join(possible)}")
        for name in ("steps", "top", "k", "tokens", "retries"):
            least = int(name != "retries")
            require(getattr(self, name) >= least, f"{name}={getattr(self, name)}: expected at least {least}")
        require(0 <= self.alpha <= 1, f"alpha={self.alpha}: expected 0 to 1")
        one_of([way for way in WAYS if way != "gold"], way=self.way)  # the agent is not shown what holds the evidence


@dataclass(frozen=True)
class Step:
    """One turn of the loop: what was searched with, what was found, and what the model made of it.

    `signature` is None without one. `chunks` are P_t, best first, of which the first `shown` were in the prompt; `items` their
    H_t. `action` is ANSWER or REFINE, empty where no reply could be read; `evidence` are the notes after this step.
    `invalid` says why replies could not be read, one each; `tries` counts all of them.
    """

    query: str
    signature: Signature | None
    chunks: tuple[int, ...]
    shown: int
    items: tuple[int, ...]
    action: Literal["ANSWER", "REFINE", ""]
    confidence: str
    thought: str
    evidence: tuple[str, ...]
    invalid: tuple[str, ...]
    tries: int
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True)
class Trace:
    """A question's whole way: its first signature's items, the steps, the state in which it was answered, the answers.

    `signature` and `evidence` are what the generator could be given. `stopped` says why the loop ended: "answer", "steps" (none
    were left) or "unreadable" (no reply could be read).
    """

    id: str
    items: tuple[int, ...]
    steps: tuple[Step, ...]
    signature: Signature | None
    evidence: tuple[str, ...]
    stopped: Literal["answer", "steps", "unreadable"]
    answers: Mapping[str, Answer] = field(default_factory=dict)

    @property
    def chunks(self) -> tuple[int, ...]:
        """The chunks that it was answered from, best first."""
        return self.steps[-1].chunks

    @property
    def calls(self) -> int:
        """Replies that it took, cached ones and unreadable ones counted."""
        return sum(part.tries for part in self.steps) + sum(part.calls for part in self.answers.values())

    @property
    def tokens(self) -> int:
        """Tokens read and written for them."""
        parts: list[Step | Answer] = [*self.steps, *self.answers.values()]
        return sum(part.prompt_tokens + part.completion_tokens for part in parts)


def run(
    llm: LLM,
    shelf: Shelf,
    questions: Sequence[Posed],
    settings: Settings | None = None,
    *,
    batch: int = 8,
    budget: Budget | None = None,
    template: str = "",
) -> list[Trace]:
    """Algorithm 1 for each question.

    `llm` updates and answers. Of a question only id, text, kind and options are read. `batch` questions go step by step
    together. `budget` bounds what the whole run takes, replies out of the store included, so that a run stops where it stopped
    before. `template`: of the answers, as `rag.answers` takes it.

    Raises BudgetSpent before calls that the budget does not hold, InputError for questions with equal ids, LLMError if a model
    fails. After any of these, and after a kill, the same call goes on where it was. Taught in notebook 23_signature_agent.

    >>> traces = run(model, shelf, questions, Settings(rewrite=False))                       # doctest: +SKIP
    >>> traces[0].answers["sig_evi"].value, traces[0].stopped                                # doctest: +SKIP
    ('D', 'answer')
    """
    require(batch >= 1, f"batch={batch}: expected at least 1")
    require(len({posed.id for posed in questions}) == len(questions), "two questions have the same id: expected each once")
    meter, settings = Meter(llm, budget), settings or Settings()
    groups = (questions[start : start + batch] for start in range(0, len(questions), batch))
    return [trace for group in groups for trace in _together(meter, shelf, group, settings, template)]


# Algorithm 1


def _together(llm: LLM, shelf: Shelf, questions: Sequence[Posed], settings: Settings, template: str) -> list[Trace]:
    """The loop for several questions at a time, and their answers; sigma_t and E_t are those of the traces so far."""
    traces = []
    for question, woken in zip(questions, shelf.wake([question.text for question in questions]), strict=True):
        items = shelf.choose(woken, settings.way, settings.k) if settings.signature else ()
        signature = shelf.signature(items) if settings.signature else None
        traces.append(Trace(question.id, items, (), signature, (), "steps"))  # 1, 2
    queries, going = [question.text for question in questions], list(range(len(questions)))  # q_t, and whose loop goes on
    for _ in range(settings.steps):  # 3
        signatures = [traces[i].signature or () for i in going] if settings.signature else None
        rankings = shelf.search([queries[i] for i in going], signatures, settings.top, settings.alpha)  # 4
        prompts, shown = [], []
        for i, chunks in zip(going, rankings, strict=True):
            prompt = partial(_update_prompt, shelf, questions[i], traces[i], queries[i], chunks, settings.steps, form_of(llm))
            text, kept = fitted(llm, prompt, [shelf.memory.texts[chunk] for chunk in chunks], settings.tokens)
            prompts.append(text)
            shown.append(kept)
        replies = ask(llm, UPDATE, prompts, tokens=settings.tokens, tries=1 + settings.retries)  # 6
        for i, chunks, kept, reply in zip(going, rankings, shown, replies, strict=True):
            trace = traces[i]
            searched = queries[i], trace.signature, chunks, kept, shelf.memory.items_of(chunks[:kept])  # 5
            nothing: dict[str, Any] = {"action": "", "confidence": "", "thought": "", "evidence_memory": trace.evidence}
            update: Update = reply.value or Update.model_construct(**nothing)
            evidence = tuple(update.evidence_memory)
            said = update.action, update.confidence, update.thought, evidence
            cost = reply.unread, reply.calls, reply.prompt_tokens, reply.completion_tokens
            trace = replace(trace, steps=(*trace.steps, Step(*searched, *said, *cost)), evidence=evidence)
            if update.action == "REFINE":
                queries[i] = update.rewritten_query if settings.rewrite else queries[i]
                traces[i] = replace(trace, signature=(update.refined_signature,) if settings.signature else None)
            else:
                traces[i] = replace(trace, stopped="answer" if update.action else "unreadable")  # 7
        going = [i for i in going if traces[i].stopped == "steps"]
    said_of: list[list[Answer]] = []
    for name in settings.inputs:  # 8, 11
        with_signature, with_evidence = INPUTS[name]
        signatures = [trace.signature or () for trace in traces] if with_signature else None
        notes = [trace.evidence for trace in traces] if with_evidence else None
        shown_to = shelf.memory, questions, [trace.chunks for trace in traces], signatures, notes
        said_of.append(answers(llm, *shown_to, tries=1 + settings.retries, template=template))
    by_input = (dict(zip(settings.inputs, values, strict=True)) for values in zip(*said_of, strict=True))
    return [replace(trace, answers=its) for trace, its in zip(traces, by_input, strict=True)]


def _update_prompt(
    shelf: Shelf, posed: Posed, trace: Trace, query: str, chunks: Sequence[int], steps: int, form: str, passages: Sequence[str]
) -> str:
    """The role's prompt of the next step, with the first of the chunks and the summaries of their sessions."""
    t, left, language = len(trace.steps) + 1, steps - len(trace.steps) - 1, shelf.memory.language
    require(language in SAY, f"role {UPDATE.name!r} has no prompt in {language!r}: expected one of {', '.join(SAY)}")
    say, none = SAY[language], NONE[language]
    earlier = [before for before in dict.fromkeys(step.query for step in trace.steps) if before != query]
    summaries = [shelf.memory.items[item].text for item in shelf.memory.items_of(chunks[: len(passages)])]
    return UPDATE.prompt(
        language,
        form,
        question=posed.text,
        options_str=letters(list(posed.options)) or none,
        step=str(t),
        max_steps=str(steps),
        remaining_steps_hint=say["more"].format(n=left) if left else say["last"],
        signature="\n".join(trace.signature or ()) or none,
        current_query=query,
        summaries_text="\n".join(f"- {summary}" for summary in summaries) or none,
        evidence_memory="\n".join(f"- {note}" for note in trace.evidence) or none,
        chunks_text="\n\n".join(say["passage"].format(i=i, text=text) for i, text in enumerate(passages, start=1)),
        history_section=say["history"].format(query="\n- ".join(earlier)) if earlier else "",
    )


# What a trace shows


def first_seen(trace: Trace, chunks: Collection[int]) -> int | None:
    """The step, from 1, at which any of some chunks was first retrieved; None where none ever was.

    Taught in notebook 23_signature_agent.

    >>> from dataclasses import replace
    >>> step = Step("Who?", None, (4, 7), 2, (0,), "REFINE", "LOW", "", (), (), 1, 90, 9)
    >>> steps = step, replace(step, chunks=(7, 9))
    >>> trace = Trace("q", (), steps, None, (), "steps")
    >>> first_seen(trace, [9, 8]), first_seen(trace, [7]), first_seen(trace, [5])
    (2, 1, None)
    """
    return next((t for t, step in enumerate(trace.steps, start=1) if not set(chunks).isdisjoint(step.chunks)), None)


def steps_table(trace: Trace, question: Posed) -> list[dict[str, Any]]:
    """A row a step, to be shown as a table: what the query and the signature were and whether they are new, which notes came
    and went, and how much of the gold was found, now for the first time and so far.

    `evidence` counts the chunks that hold the evidence, `bindings` the bindings that some retrieved chunk states. Cells are
    plain texts, numbers and lists: whoever shows them as HTML has to escape them. Taught in notebook 23_signature_agent.

    >>> from dataclasses import replace
    >>> posed = Posed("q", "note", "Who?", "qa", (), "Ann", (), (7, 9), ((4, 5),))
    >>> step = Step("Who?", None, (4, 7), 2, (0,), "REFINE", "LOW", "Who is she?", ("Ann left",), (), 1, 90, 9)
    >>> last = replace(step, query="Who is she?", chunks=(9,), evidence=("Ann left", "she is Ann"), action="ANSWER")
    >>> rows = steps_table(Trace("q", (), (step, last), None, last.evidence, "answer"), posed)
    >>> [(row["new query"], row["notes added"], row["evidence now"], row["evidence so far"]) for row in rows]
    [(True, ['Ann left'], [7], '1 of 2'), (True, ['she is Ann'], [9], '2 of 2')]
    """
    rows: list[dict[str, Any]] = []
    seen = {
        "evidence": {chunk: first_seen(trace, [chunk]) for chunk in question.evidence},
        "bindings": {i: first_seen(trace, group) for i, group in enumerate(question.bindings)},
    }
    for t, (before, step) in enumerate(pairwise([None, *trace.steps]), start=1):
        notes = before.evidence if before else ()
        row = {
            "step": t,
            "query": step.query,
            "new query": before is None or step.query != before.query,
            "signature": "\n".join(step.signature or ()),
            "new signature": step.signature is not None and (before is None or step.signature != before.signature),
            "action": step.action or "unreadable",
            "confidence": step.confidence,
            "thought": step.thought,
            "notes added": [note for note in step.evidence if note not in notes],
            "notes dropped": [note for note in notes if note not in step.evidence],
        }
        for what, first_at in seen.items():
            row[f"{what} now"] = [name for name, when in first_at.items() if when == t]
            row[f"{what} so far"] = f"{sum(when is not None and when <= t for when in first_at.values())} of {len(first_at)}"
        rows.append(row)
    return rows


def counts(traces: Iterable[Trace]) -> dict[str, int]:
    """What became of a run: questions, steps, why loops stopped, replies and those that could not be read, answers without one.

    Taught in notebook 23_signature_agent.

    >>> step = Step("Who?", None, (4,), 1, (0,), "", "", "", (), ("no tags", "no tags"), 2, 90, 9)
    >>> counts([Trace("q", (), (step,), None, (), "unreadable")])["unreadable replies"]
    2
    """
    traces = list(traces)
    stopped = Counter(trace.stopped for trace in traces)
    steps = [step for trace in traces for step in trace.steps]
    answers = [answer for trace in traces for answer in trace.answers.values()]
    return {
        "questions": len(traces),
        "steps": len(steps),
        **{f"stopped: {why}": stopped[why] for why in ("answer", "steps", "unreadable")},
        "passages left out": sum(len(step.chunks) - step.shown for step in steps),
        "replies": sum(trace.calls for trace in traces),
        "unreadable replies": sum(len(step.invalid) for step in steps) + sum(len(answer.unread) for answer in answers),
        "answers": len(answers),
        "unreadable answers": sum(not answer.value for answer in answers),
        "tokens": sum(trace.tokens for trace in traces),
    }
