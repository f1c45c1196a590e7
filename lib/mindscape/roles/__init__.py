"""What the papers ask a language model to do, one role a name: what it is asked, in what form it answers, and how far two
replies agree.

reading       summaries of a chunk and of a whole (MiA-RAG, section 3.2, Figure 10), of a session (MiA-Signature, appendix F);
              entities (MiA-RAG, section 3.2); silver evidence: which chunks and entities bear on a question (MiA-RAG, section
              3.3, Figures 11 and 12)
answers       open questions and multiple choice (MiA-RAG, Figure 16), claims (MiA-Signature, appendix F, NoCha)
memory        a document's memory: an outline, and for each scenario a chunk by its ends and what it is about (MoM, Table 4);
              and the reverse: from both to the path of thought between them (section 3.1.3)
edits         what a block of text adds to a concept graph, changes in it or takes out (MindGraph, appendix D.1)
graph_answer  an answer from a graph, with two tools in OpenAI's form (MindGraph, appendix D.2 and D.3)
judges        is an answer right (MindGraph, appendix D.4), which of two is better (MiA-RAG, Figure 14)
update        an agent's next step: is what was retrieved enough to answer, and if not, what to look for next (MiA-Signature,
              appendix F, UPDATE)
scores        how far two replies of a role agree, from 0 to 1: indices, operations on a graph, quotes, the borders of a memory;
              NaN where there is nothing to score. Scores against a novel's gold are `storyworld.teaching.scoring`'s, and so is
              what a perfect reader would reply `storyworld.teaching`'s

Where the paper prints the prompt, it has two forms, both ours: the short one, which the embedded reader was trained on, and the
paper's, with each of its demands, for every other model; see `mindscape.prompts`. Which one a model is sent is what
`mindscape.llm.base.form_of` says, and nothing else decides it.

A summary is text as it comes; the length that a prompt asks for is not enforced. Of a passage's entities nothing is known of
other passages: those that are one and the same are not merged. Silver evidence is a JSON array of indices, [-1] for none;
whether an index is among those shown is not checked here: the caller knows how many there were. There is no role here for "I do
not know". A judge's keys are the papers', but in the short form the reason comes before the verdict, which can then rest on it.

Nothing here retrieves, finds chunks in a document, scores or chooses memories, keeps a graph, looks up quotes, checks that an
id exists (`mindscape.mindgraph.graph` does) or runs a tool. Taught in notebook 01_the_reader.
"""

import json
import math
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar, cast, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from mindscape.errors import one_of, require
from mindscape.llm import Needs, Schema, Tags
from mindscape.llm.base import MARK, PAPER, SHORT, Text, dropped, taken
from mindscape.llm.schema import parse, read
from mindscape.metrics import token_f1
from mindscape.prompts import languages, paper, short_texts
from mindscape.text import Document, locate

FENCES = ("code fence stripped", r"^```\w*[^\S\n]*\n|\n?```$", "")


def label(words: str) -> tuple[str, str, str]:
    """The repair of a plain reply that begins with what it is, such as "**Answer:** ", in any of some words."""
    return "label dropped", rf"^[*#_\s]*(?:{words})[*_\s]*[:：][*_\s]*", ""


def mended(text: str, repairs: Sequence[tuple[str, str, str]] = ()) -> tuple[str, list[str]]:
    """A plain reply without thinking and fences, after the further repairs that it took, and the names of all:
    (name, pattern, what it is replaced by) in their order.

    Raises ValueError where no words are left, or the reply ends inside its thinking.

    >>> mended("**Answer:** a mill", [label("answer"), ("full stop dropped", r"\\.$", "")])
    ('a mill', ['label dropped'])
    """
    text, taken = dropped(text)
    text = text.strip()
    for name, pattern, kept in (FENCES, *repairs):
        clean = re.sub(pattern, kept, text, flags=re.DOTALL | re.IGNORECASE)
        if clean != text:
            taken.append(name)
            text = clean.strip()
    if not text:
        raise ValueError("the reply has no words")
    return text, taken


class Form(BaseModel):
    """A reply in JSON; it may have more keys than asked for, but decoding that is held to it adds none."""

    model_config = ConfigDict(json_schema_extra={"additionalProperties": False})


Plain = Callable[[str], tuple[Any, list[str]]]  # what a text says, and the names of the repairs that it took


@dataclass(frozen=True)
class Example:
    """A prompt and what a perfect reader replies; `book` is the id of the document that it was made from.

    `history` is what was said between the two, the reader's turn first: a tool call and its result, say.
    """

    role: str
    prompt: str
    reply: str
    book: str
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Role:
    """A prompt for each language, and the form of the reply.

    `form` is None where the reply is plain text, a pydantic model where it is JSON, `Tags` where it is in tags. `plain`
    parses a text; a role that has both is held to its form when it is written and read by `plain`. `paper` are the prompts in
    the paper's form, `asks` the form of the reply where that asks for another one, which `plain` then reads, too.

    >>> numbers = {"type": "array", "items": {"type": "integer"}}
    >>> role = Role("even", {"en": "Which of these are even? {numbers}"}, numbers)
    >>> role.prompt(numbers="3 4"), role.parse("```json\\n[4]\\n```")
    ('Which of these are even? 3 4', ([4], ['code fence stripped']))
    """

    name: str
    prompts: Mapping[str, str]
    form: Schema | None
    plain: Plain | None = None
    paper: Mapping[str, str] | None = None
    asks: Schema | None = None

    def words(self, form: str = SHORT) -> Mapping[str, str]:
        """The prompts in a form, "short" or "paper", by language; a role that no paper prints has the short one alone."""
        one_of((SHORT, PAPER), form=form)
        return self.paper if form == PAPER and self.paper else self.prompts

    def reply(self, form: str = SHORT) -> Schema | None:
        """The form of the reply that a prompt in a form asks for."""
        return self.asks if form == PAPER and self.asks else self.form

    def prompt(self, language: str = "en", form: str = SHORT, **slots: str) -> str:
        """The user's message, in the form that `mindscape.llm.base.form_of` tells of the model that is asked.

        Raises InputError for another form, a language without a prompt, a slot too many or one missing.
        """
        prompts = self.words(form)
        known = f"expected one of {', '.join(prompts)}"
        require(language in prompts, f"role {self.name!r} has no prompt in {language!r}: {known}")
        wanted = {name for _, name, _, _ in string.Formatter().parse(prompts[language]) if name}
        require(wanted == set(slots), f"role {self.name!r}: got slots {sorted(slots)}: expected {sorted(wanted)}")
        return prompts[language].format(**slots)

    def parse(self, text: str) -> tuple[Any, list[str]]:
        """What a reply says, and the names of the repairs that it took. Raises ValueError where it says nothing usable."""
        return self.plain(text) if self.plain else read(text, self.form)

    def render(self, value: Any) -> str:
        """The reply that says a value, as the model is trained to write it."""
        if isinstance(self.form, Tags):
            return self.form.render(value)
        if self.plain:
            return value
        value = value.model_dump(exclude_defaults=True) if isinstance(value, BaseModel) else value
        return json.dumps(value, ensure_ascii=False)


def _printed(name: str, form: Schema | None, plain: Plain | None = None, asks: Schema | None = None) -> Role:
    """A role that a paper prints: its prompts, in both forms, are in the kit's files under its name."""
    return Role(name, languages("roles", name), form, plain, paper("roles", name), asks)


PROSE_REPAIRS = (label("summary|摘要|总摘要|复述"), ("tags dropped", r"</?(?:summary|text|chunk)>\s*", ""))


def prose(text: str) -> tuple[str, list[str]]:
    """A summary and the repairs that it took. Raises ValueError where there is none.

    >>> prose("**Summary:** Ann left the inn.")
    ('Ann left the inn.', ['label dropped'])
    """
    return mended(text, PROSE_REPAIRS)


# [INST]_sum_c of Eq. 3 and [INST]_sum_g of Eq. 4. The instructions come first, so that one reading of this common head
# serves every chunk.
CHUNK_SUMMARY, GLOBAL_SUMMARY = _printed("chunk_summary", None, prose), _printed("global_summary", None, prose)
SESSION_SUMMARY = _printed("session_summary", None, prose)


_SAID = {"name": {"type": "string"}, "description": {"type": "string"}}
_ENTITY = {"type": "object", "properties": _SAID, "required": list(_SAID), "additionalProperties": False}
SCHEMA = {"title": "Entities", "type": "array", "items": _ENTITY}

ENTITIES = Role("entities", languages("roles", "entities"), SCHEMA)


_INDEX = {"type": "integer", "minimum": -1, "maximum": 999}
INDICES = {"title": "Indices", "type": "array", "items": _INDEX, "minItems": 1}


def numbered(texts: Sequence[str]) -> str:
    """Texts with their indices, as a prompt has them: before each, and behind it, where a model has read it.

    >>> numbered(["It rained.", "He sang."])
    '[0] It rained. [/0]\\n[1] He sang. [/1]'
    """
    return "\n".join(f"[{i}] {text} [/{i}]" for i, text in enumerate(texts))


SILVER_CHUNKS, SILVER_NODES = _printed("silver_chunks", INDICES), _printed("silver_nodes", INDICES)


Letter = Literal["A", "B", "C", "D"]
LETTERS = "ABCD"
ALONE = re.compile(r"(?<![A-Za-z])(?:[B-D]|A(?! (?!or |and |is )[a-z]))(?![A-Za-z])|(?<=[(（])[a-d](?=[)）])")
DENIED = re.compile(  # a letter that is called wrong
    r"(?<![A-Za-z])[A-D] is (?:wrong|not|false|incorrect)"
    r"|[A-D][)）]?(?:选项|项)?(?:明显|显然|也|都|并|就)*(?:是|为)?(?:不对|不是|不正确|不成立|错)"
    r"|(?:不|非)(?:应该|应|能|可以|会|要)?(?:选择?|是|为)?(?:选项)?[(（]?[A-D]"
)

PHRASE_REPAIRS = (
    label("(?:(?:the |final )*answer(?: is)?|最终答案|答案(?:是)?|答)"),
    ("tags dropped", r"</?answer>", ""),
    ("first line kept", r"\n.*$", ""),
    ("emphasis dropped", r"\*\*|__|^[*_`]+|[*_`]+$", ""),
    ("full stop dropped", r"[.。]$", ""),
    ("quotes dropped", r"""^["“'‘「](.*)["”'’」]$""", r"\1"),
)


class Choice(BaseModel):
    """What the passages tell, and the letter of the option that is right."""

    explanation: str
    answer: Letter


class Reasoned(Form):
    """The same as the paper has it for DetectiveQA: the letter, and how it was found."""

    answer: Letter
    reasoning: str


class Verdict(BaseModel):
    """What the passages tell of a claim, and whether it holds."""

    explanation: str
    answer: Literal["TRUE", "FALSE"]


def letters(options: Sequence[str]) -> str:
    """The options as a prompt has them.

    >>> letters(["an inn", "a mill"])
    'A. an inn\\nB. a mill'
    """
    return "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=False))


def phrase(text: str) -> tuple[str, list[str]]:
    """A short answer and the repairs that it took. Raises ValueError where there is none.

    >>> phrase("Answer: the old mill.\\nIt is told in the second passage.")
    ('the old mill', ['label dropped', 'first line kept', 'full stop dropped'])
    """
    return mended(text, PHRASE_REPAIRS)


def letter(text: str) -> tuple[Letter, list[str]]:
    """The letter of an option and the repairs that it took. Raises ValueError where there is none, or more than one.

    A letter that is called wrong is no answer, and neither are the options themselves.

    >>> letter("The answer is (b).")
    ('B', ['text around dropped', 'case of a letter'])
    """
    text, before = unicodedata.normalize("NFKC", text).strip(), text.strip()
    repairs = ["full-width letters"] if text != before else []
    if len(text) > 1:
        first = re.match(r"[(（]?([A-Da-d])[)）.:：、]", text)
        alone = set(ALONE.findall(text))
        marked = set(re.findall(r"(?<![A-Za-z])([A-Da-d])[)）.:：、]", text))
        if DENIED.search(text) or (len(marked) > 1 if first else len(alone) != 1):
            raise ValueError(f"no single letter of A to D: {text[:40]!r}")
        text = first[1] if first else alone.pop()
        repairs.append("text around dropped")
    if text not in LETTERS:
        text = text.upper()
        repairs.append("case of a letter")
    if not text or text not in LETTERS:
        raise ValueError(f"no letter of A to D: {text!r}")
    return cast(Letter, text), repairs


def read_choice(text: str) -> tuple[Choice, list[str]]:
    """The choice that a reply makes and the repairs that it took: in tags, in JSON as the paper's form asks for it, or by the
    letter alone, which many models give.

    Raises ValueError where there is no letter, or more than one.

    >>> read_choice("B. the mill")
    (Choice(explanation='', answer='B'), ['tags missing', 'text around dropped'])
    >>> read_choice('{"answer": "B", "reasoning": "Ann walks to the mill."}')
    (Choice(explanation='Ann walks to the mill.', answer='B'), [])
    """
    said: Any = None
    with suppress(ValueError):
        return read(text, Tags(Choice))
    with suppress(ValueError):
        said, repairs = parse(text)
    if isinstance(said, dict) and isinstance(said.get("answer"), str):
        answer, more = letter(said["answer"])
        return Choice(explanation=str(said.get("reasoning", "")).strip(), answer=answer), [*repairs, *more]
    rest, repairs = dropped(text)
    explained, rest = taken("explanation", rest)
    tagged = re.search(r"<answer>([^<]*)", rest, re.IGNORECASE)
    answer, more = letter(tagged[1] if tagged else rest)
    repairs += more if tagged else ["tags missing", *more]
    return Choice(explanation="".join(explained).strip(), answer=answer), repairs


QA, CHOICE = _printed("qa", None, phrase), _printed("choice", Tags(Choice), read_choice, Reasoned)
LETTER = Role("letter", languages("roles", "choice"), None, plain=read_choice, paper=paper("roles", "letter"))
CLAIM = _printed("claim", Tags(Verdict))


MASK = "[MASK]"
ENDS = {"en": 5, "zh": 8}  # words or characters at each end of a chunk
SUMMARY = re.compile(r"(?:content )?summary\s*:|(?:内容)?(?:概要|摘要)\s*[:：]", re.IGNORECASE)


def ends_of(chunk: str) -> tuple[str, str]:
    """First and last words of a chunk as it was said; the last ones are "" where [MASK] is not there.

    >>> ends_of("It rained [MASK] went home."), ends_of("It rained")
    (('It rained', 'went home.'), ('It rained', ''))
    """
    head, _, tail = chunk.partition(MASK)
    return head.strip(), tail.strip()


class Scenario(BaseModel):
    """A chunk by its first and last words, and its core content."""

    chunk: str = Field(pattern=r"^[^<]*[^<\s][^<]*\[MASK\][^<]*[^<\s][^<]*$")
    core: Text = Field(min_length=1)

    @property
    def ends(self) -> tuple[str, str]:
        """The chunk's first and last words."""
        return ends_of(self.chunk)


def _entries(outline: Any) -> Any:
    """The entries of an outline; a summary on a line of its own belongs to the role before it."""
    if not isinstance(outline, list):
        return outline
    entries: list[str] = []
    for line in outline:
        if entries and isinstance(line, str) and SUMMARY.match(line):
            entries[-1] = f"{entries[-1]}; {line}"
        else:
            entries.append(line)
    return entries


Outline = Annotated[list[str], Field(min_length=1), BeforeValidator(_entries)]


class Extracted(BaseModel):
    """A document memory without the thoughts that led to it."""

    outline: Outline
    scenario: list[Scenario] = Field(min_length=1)


class DocumentMemory(BaseModel):
    """What the reader of a document replies (MoM, Table 4)."""

    think: str
    outline: Outline
    scenario: list[Scenario] = Field(min_length=1)


THOUGHT_REPAIRS = (("memory dropped", r"<(?:outline|scenario)>.*$", ""),)


def plain(text: str) -> tuple[str, list[str]]:
    """The path of thought in a reply, and the repairs that it took. Raises ValueError where there is none.

    >>> plain("<think>Two parts.</think>")
    ('Two parts.', ['think tags dropped'])
    """
    try:
        return mended(text, THOUGHT_REPAIRS)
    except ValueError:  # there is nothing but what stands in marks of thinking, closed or not: that is the path
        bare = MARK.sub("", text)
        path, repairs = mended(bare, THOUGHT_REPAIRS)
        return path, ["think tags dropped", *repairs] if bare != text else repairs


def ends(text: str, language: str = "en") -> tuple[str, str]:
    """The first words of a text and its last, as they stand; each of one line, so that they are found again.

    >>> ends("It rained all day on the hill. Then Ivo went home.\\n\\n")
    ('It rained all day on', 'hill. Then Ivo went home.')
    """
    lines = text.strip().split("\n")
    word = r"\S+" if language == "en" else r"\S"
    first = list(re.finditer(word, lines[0]))[: ENDS[language]]
    last = list(re.finditer(word, lines[-1]))[-ENDS[language] :]
    return lines[0][: first[-1].end()].strip(), lines[-1][last[0].start() :].strip()


MEMORY = _printed("memory", Tags(DocumentMemory))
REVERSE = Role("reverse_reasoning", languages("roles", "reverse_reasoning"), None, plain)


BLOCK = 280  # tokens at most
EMPTY = "(empty)"  # a graph without nodes, as the paper writes it
PIECE = re.compile(r"\s+|[^\W\u3040-\u9fff]+|.")  # of a block: a blank, a word, a character of Chinese, a mark
OPENING = '{"operations": ['  # of a reply


class AddNode(Form):
    op: Literal["add_node"]
    id: str
    type: Literal["entity", "event", "claim", "concept", "stat"]
    content: str
    src: str


class AddEdge(Form):
    op: Literal["add_edge"]
    source: str
    target: str
    relation: str
    src: str


class EditNode(Form):
    op: Literal["edit_node"]
    id: str
    content: str


class DeleteNode(Form):
    op: Literal["delete_node"]
    id: str


Operation = Annotated[AddNode | AddEdge | EditNode | DeleteNode, Field(discriminator="op")]


class Edits(Form):
    """What one block changes (MindGraph, appendix D.1).

    >>> Edits.model_validate({"operations": [{"op": "delete_node", "id": "oath_of_ivo"}]}).operations[0].id
    'oath_of_ivo'
    """

    operations: list[Operation]


class Noted(Form):
    """What one block tells, what of it bears on the question, and what that changes: relevance is put into words first.

    >>> Noted.model_validate({"told": ["Ivo sold the lamp"], "bears": [], "operations": []}).operations
    []
    """

    told: list[str]
    bears: list[str]
    operations: list[Operation]


def block_slots(question: str, state: str, text: str, index: int, blocks: int) -> dict[str, str]:
    """What fills the prompt of EDITS or BUILDER: a question, the graph so far, and the text and index of one of some blocks.

    >>> block_slots("Who sold it?", EMPTY, " Ivo sold it.", 0, 2)["block_text"]
    'Ivo sold it.'
    """
    slots = {"question": question, "graph_state": state, "block_text": text.strip()}
    return slots | {"block_idx": str(index + 1), "total_blocks": str(blocks)}


def quoting(block: str, form: type[Edits] | type[Noted] = Edits) -> dict[str, Any]:
    """The form of a reply each `src` of which stands in the block: whole words and marks in a row, a space for any blank.

    A grammar (`lark`), for a model whose decoding can be held to one; others are told `form` and may quote what they like.

    >>> print(quoting("Ivo sold it.")["lark"].splitlines()[-1])
    WORDS: %regex {"substring_chunks": ["Ivo", " ", "sold", " ", "it", "."]}
    """
    pieces = [json.dumps(" " if word.isspace() else word, ensure_ascii=False)[1:-1] for word in PIECE.findall(block.strip())]
    models = [model for model in (AddNode, AddEdge, EditNode, DeleteNode) if pieces or "src" not in model.model_fields]
    opening, sentences = _said(OPENING), []
    if form is Noted:
        sentences = ['sentences: "[" (string (", " string)*)? "]"']
        opening = f'"{{" "\\"told\\": " sentences ", \\"bears\\": " sentences {_said(", " + OPENING[1:])}'
    lines = [f'start: {opening} (op (", " op)*)? "]}}"', *sentences]
    lines += ["op: " + " | ".join(_rule(model) for model in models), 'string: %json {"type": "string"}']
    if pieces:
        lines += [r'src: "\"" QUOTE "\""', r"QUOTE: WORDS & /\S|\S(.|\n)*\S/"]
        lines += [f"WORDS: %regex {json.dumps({'substring_chunks': pieces}, ensure_ascii=False)}"]
    return {"title": form.__name__, "lark": "\n".join(lines)}


def _rule(model: type[BaseModel]) -> str:
    """An operation as the grammar has it, its keys in the model's order."""
    parts, before = [], "{"
    for name, info in model.model_fields.items():
        choices = " | ".join(_said(json.dumps(choice)) for choice in get_args(info.annotation))
        value = f"({choices})" if choices else "src" if name == "src" else "string"
        parts += [_said(f'{before}"{name}": '), value]
        before = ", "
    return " ".join([*parts, _said("}")])


def _said(text: str) -> str:
    """A text as a grammar's string."""
    return json.dumps(text, ensure_ascii=False)


def graph_state(nodes: Sequence[Mapping[str, str]], edges: Sequence[Mapping[str, str]]) -> str:
    """A graph as the prompts show it: JSON, a node or an edge a line; "(empty)" without nodes. Quotes are left out.

    >>> print(graph_state([{"id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo"}], []))
    {"nodes": [
    {"id": "ivo", "type": "entity", "content": "Ivo"}
    ], "edges": []}
    """
    if not nodes:
        return EMPTY
    shown = [_lines(nodes, ("id", "type", "content")), _lines(edges, ("source", "target", "relation"))]
    return '{{"nodes": {}, "edges": {}}}'.format(*shown)


def _lines(rows: Iterable[Mapping[str, str]], keys: Sequence[str]) -> str:
    lines = [json.dumps({key: row[key] for key in keys}, ensure_ascii=False) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]" if lines else "[]"


EDITS = _printed("edits", Edits)
# The same in two steps, as the builder's adapter has learned it.
BUILDER = Role("builder", languages("roles", "builder"), Noted)


WORDS = short_texts("roles", "graph_answer")
UNKNOWN = {"en": "unknown", "zh": "不知道"}
TOOLS: list[dict[str, Any]] = WORDS["tools"]
PAPER_TOOLS: list[dict[str, Any]] = short_texts("roles", "paper/tools")["tools"]


def tools_of(form: str) -> list[dict[str, Any]]:
    """The tools' descriptions in a form, "short" or "paper" (D.3); names and parameters are the same in both.

    >>> [len(tool["function"]["description"]) for form in ("short", "paper") for tool in tools_of(form)]
    [93, 195, 159, 426]
    """
    return PAPER_TOOLS if form == PAPER else TOOLS


class GraphAnswer(Form):
    """The last reply (MindGraph, appendix D.2).

    >>> GraphAnswer(answer="the kettle", cited_nodes=["hang_flora"], confidence="high").confidence
    'high'
    """

    answer: str
    cited_nodes: list[str]
    confidence: Literal["high", "medium", "low"]


class Counted(Form):
    """A count: each node with whom it adds and the count so far, then the number; the kit's own form.

    >>> count = Counted(counted=["sell_ivo: Ivo, 1", "buy_ann: Ann, 2"], answer="two", confidence="high")
    >>> count.cited_nodes
    ['sell_ivo', 'buy_ann']
    """

    counted: list[str]
    answer: str
    confidence: Literal["high", "medium", "low"]

    @property
    def cited_nodes(self) -> list[str]:
        """The nodes of the lines, each once."""
        return list(dict.fromkeys(line.partition(":")[0] for line in self.counted))


def graph_stats(nodes: int, edges: int, chunks: int, language: str = "en") -> str:
    """The size of a graph in words.

    >>> graph_stats(72, 154, 21)
    '72 nodes, 154 edges, built from 21 chunks'
    """
    return WORDS["stats"][language].format(nodes=nodes, edges=edges, chunks=chunks)


GRAPH_ANSWER = _printed("graph_answer", GraphAnswer)
COUNTED = Role("counted", languages("roles", "counted"), Counted)  # as the counter's adapter has learned it


class Grade(BaseModel):
    """Why an answer means what the gold answer means or does not, and which it is."""

    reason: str
    correct: bool


class Judgement(BaseModel):
    """Why an answer is better in one respect, and which."""

    Explanation: str
    Winner: Literal["Answer 1", "Answer 2"]


class Won(Form):
    """The same in the order of the paper's form, in which the verdict comes first."""

    Winner: Literal["Answer 1", "Answer 2"]
    Explanation: str


class Pairwise(BaseModel):
    """Which of two answers is better, by three criteria and on the whole."""

    Comprehensiveness: Judgement
    Diversity: Judgement
    Empowerment: Judgement
    Overall: Judgement


class Wins(Form):
    """`Pairwise` as the paper's form asks for it."""

    Comprehensiveness: Won
    Diversity: Won
    Empowerment: Won
    Overall: Won


GRADE, PAIRWISE = _printed("grade", Grade), _printed("pairwise", Pairwise, asks=Wins)


NONE = {"en": "(none)", "zh": "（无）"}


SAY = short_texts("roles", "update")


class Update(BaseModel):
    """What the agent replies at each step. A signature and a query must be there to REFINE, and must not to ANSWER.

    >>> Update(evidence_memory=["Ivo is the weaver"], confidence="HIGH", thought="Enough.", action="ANSWER").action
    'ANSWER'
    """

    evidence_memory: list[str]
    confidence: Literal["HIGH", "MEDIUM", "LOW"]
    thought: str
    action: Annotated[Literal["ANSWER", "REFINE"], Needs({"REFINE": ("refined_signature", "rewritten_query")})]
    refined_signature: str = ""
    rewritten_query: str = ""


UPDATE = _printed("update", Tags(Update))


T = TypeVar("T")
ALIKE = 0.5  # token F1 from which the contents of two nodes are taken for the same
NEAR = 20  # characters by which a border may miss
QUOTES = ("quote_located", "quote_verbatim", "ends_located")


def f1(gold: Collection, predicted: Collection) -> float:
    """The F1 of two sets; 1 where both are empty.

    >>> f1({1, 2}, {2, 3}), f1([], [])
    (0.5, 1.0)
    """
    gold, predicted = set(gold), set(predicted)
    return 2 * len(gold & predicted) / (len(gold) + len(predicted)) if gold or predicted else 1.0


def indices_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """The F1 of two lists of indices in which [-1] is none.

    >>> indices_f1([-1], [-1]), indices_f1([0, 2], [2])
    (1.0, 0.6666666666666666)
    """
    return f1(set(gold) - {-1}, set(predicted) - {-1})


def node_and_edge_f1(gold: Edits, predicted: Edits, language: str = "en") -> tuple[float, float]:
    """F1 of the operations on nodes, and of the added edges, each matched to one at most, the likest first.

    Two added nodes are the same if their types are and their contents share half of their words; two edits if their ids
    are and the contents share half; two deletions if their ids are. Two edges are the same if their relations are, and
    the nodes at both ends are the same or have the same id. NaN for edges where the gold adds none; 1 for nodes where
    neither side has an operation.

    >>> gold = Edits.model_validate({"operations": [{"op": "delete_node", "id": "oath_of_ivo"}]})
    >>> node_and_edge_f1(gold, Edits(operations=[]))
    (0.0, nan)
    """
    nodes = [[op for op in edits.operations if not isinstance(op, AddEdge)] for edits in (gold, predicted)]
    edges = [[op for op in edits.operations if isinstance(op, AddEdge)] for edits in (gold, predicted)]
    pairs = matched({(i, j): _likeness(a, b, language) for i, a in enumerate(nodes[0]) for j, b in enumerate(nodes[1])})
    same = {nodes[1][j].id: nodes[0][i].id for i, j in pairs.items() if isinstance(nodes[1][j], AddNode)}
    ends = [
        Counter((names.get(e.source, e.source), names.get(e.target, e.target), e.relation.lower()) for e in added)
        for names, added in zip(({}, same), edges, strict=True)
    ]
    both = (ends[0] & ends[1]).total()
    sizes = len(nodes[0]) + len(nodes[1])
    of_edges = 2 * both / (len(edges[0]) + len(edges[1])) if edges[0] else math.nan
    return 2 * len(pairs) / sizes if sizes else 1.0, of_edges


def matched(likeness: Mapping[tuple[T, T], float]) -> dict[T, T]:
    """Pairs that are at least `ALIKE`, the likest first, each side in one of them.

    >>> matched({("ivo", "i"): 0.9, ("ivo", "a"): 1.0, ("ann", "i"): 0.6})
    {'ivo': 'a', 'ann': 'i'}
    """
    pairs: dict[T, T] = {}
    for first, second in sorted(likeness, key=lambda pair: -likeness[pair]):
        if likeness[first, second] >= ALIKE and first not in pairs and second not in pairs.values():
            pairs[first] = second
    return pairs


def _likeness(a: Operation, b: Operation, language: str) -> float:
    if isinstance(a, DeleteNode) and isinstance(b, DeleteNode):
        return float(a.id == b.id)
    if isinstance(a, AddNode) and isinstance(b, AddNode):
        same = a.type == b.type
    elif isinstance(a, EditNode) and isinstance(b, EditNode):
        same = a.id == b.id
    else:
        return 0.0
    return token_f1(b.content, a.content, language) if same and b.content.strip() else 0.0


def located(quotes: Sequence[str], text: str) -> float:
    """The share of quotes that `locate` finds in a text; NaN for none.

    >>> located(["It rained", "It snowed all night on the hill"], "It rained. Ivo went home.")
    0.5
    """
    document = Document("shown", text)
    return _share(quotes, lambda quote: locate(quote, document) is not None)


def verbatim(quotes: Sequence[str], text: str) -> float:
    """The share of quotes that stand in a text letter by letter, blanks apart; NaN for none.

    >>> verbatim(["rained.  Ivo went", "It poured"], "It rained. Ivo went home.")
    0.5
    """
    shown = " ".join(text.split())
    return _share(quotes, lambda quote: " ".join(quote.split()) in shown)


def _share(quotes: Sequence[str], right: Callable[[str], bool]) -> float:
    return sum(bool(quote.strip()) and right(quote) for quote in quotes) / len(quotes) if quotes else math.nan


def borders(memory: DocumentMemory | Extracted, text: str) -> list[int]:
    """Where the second chunk of a memory begins, the third and so on: the places of their first words, where found.

    Each is looked for behind the one before it, and only where it is not there in the whole text.
    """
    places, behind = [], 0
    for i, scenario in enumerate(memory.scenario):
        head = scenario.ends[0]
        for start in (behind, 0):
            place = locate(head, Document("shown", text[start:])) if head else None
            if place:
                behind = start + place.end
                places += [start + place.start] if i else []
                break
    return places


def border_f1(gold: Sequence[int], predicted: Sequence[int]) -> float:
    """The F1 of borders, each found one matched to at most one of gold that is `NEAR`; NaN where there are none.

    >>> border_f1([100, 400], [95, 380, 700])
    0.8
    """
    free, right = sorted(gold), 0
    for place in sorted(predicted):
        hit = next((border for border in free if abs(border - place) <= NEAR), None)
        if hit is not None:
            free.remove(hit)
            right += 1
    return 2 * right / (len(gold) + len(predicted)) if gold or predicted else math.nan


_READING = (CHUNK_SUMMARY, GLOBAL_SUMMARY, SESSION_SUMMARY, SILVER_CHUNKS, SILVER_NODES, ENTITIES)
_ACTING = (EDITS, GRAPH_ANSWER, UPDATE, MEMORY, REVERSE, QA, CHOICE, CLAIM, GRADE, PAIRWISE)
ROLES: dict[str, Role] = {role.name: role for role in (*_READING, *_ACTING)}

__all__ = ["ROLES", "Example", "Role"]
