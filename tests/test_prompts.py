"""The prompts' files and the calls that name them; the two forms of the papers' prompts: what each demands, and which of them a
model is sent."""

import json
import re
import string
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from extras import refused
from servers import Scripted as Server
from servers import at, says
from stubs import Stub, in_turn

import mindscape
from mindscape import llm, prompts, roles
from mindscape.ask import PAPER_LONGEST, Meter, ask
from mindscape.llm.base import form_of
from mindscape.llm.recording import Scripted
from mindscape.mia import embedding, generation, graphrag, summaries
from mindscape.mia.generation import write
from mindscape.mindgraph import answer, build, scoring
from mindscape.mindgraph.graph import Graph, apply_all
from mindscape.mindgraph.scoring import Row
from mindscape.mom import extraction, retrieval
from mindscape.mom.memreader import BARE
from mindscape.roles import LETTER, PAPER_TOOLS, ROLES, TOOLS, Choice, tools_of
from mindscape.signature import memory as session
from mindscape.text import Chunk, Document

HOME = Path(mindscape.__file__).parent
CALL = re.compile(r'\b(text|languages|paper|short_texts)\("(\w+)", "([\w./-]+)"\)')
PRINTED = re.compile(r'\b_printed\("(\w+)"')  # a role of `mindscape.roles` with its prompts in both forms


def named() -> set[str]:
    """The files that some module asks for."""
    paths = set()
    for module in HOME.parent.rglob("*.py"):
        text = "" if module.name == "prompts.py" else module.read_text()
        both_forms = [(kind, "roles", name) for name in PRINTED.findall(text) for kind in ("languages", "paper")]
        for kind, room, name in CALL.findall(text) + both_forms:
            both = [f".{code}.md" for code in prompts.LANGUAGES]
            ends = {"text": [".md"], "short_texts": [".toml"], "languages": both, "paper": [*both, ".toml"]}[kind]
            place = f"paper/{name}" if kind == "paper" else name
            paths |= {f"{room}/prompts/{place}{end}" for end in ends}
    return paths


def test_every_file_is_asked_for_and_every_call_names_a_file():
    files = {str(path.relative_to(HOME)) for path in HOME.glob("*/prompts/**/*") if path.is_file()}
    assert files and files == named()


def test_files_end_in_one_line_break_that_is_no_part_of_the_prompt():
    for path in HOME.glob("*/prompts/**/*.md"):
        assert path.read_bytes().endswith(b"\n") and b"\r" not in path.read_bytes(), path.name
        room, _, *below = path.relative_to(HOME).parts
        assert prompts.text(room, "/".join(below).removesuffix(".md")) == path.read_text(encoding="utf-8")[:-1]


MARKDOWN = [name for name in prompts.printed() if name not in ("tools", "embedding")]
SHORT_OF = {"letter": "choice"}  # a prompt whose short form is another's
UNPRINTED = ("entities", "reverse_reasoning")  # roles whose prompts no paper prints


def slots(text: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(text) if name]


def texts(name: str, language: str) -> tuple[str, str]:
    """A prompt in the paper's form and in the short one, as they stand in their files."""
    room = prompts.printed()[name]
    if name == "tools":
        return tuple(json.dumps(tools, ensure_ascii=False) for tools in (PAPER_TOOLS, TOOLS))
    if name == "embedding":
        forms = embedding.Form(wording="paper"), embedding.Form()
        return tuple("".join(part[language] for part in form.texts) for form in forms)
    return prompts.paper(room, name)[language], prompts.languages(room, SHORT_OF.get(name, name))[language]


CASES = [(name, language) for name in prompts.printed() for language in prompts.LANGUAGES]


@pytest.mark.parametrize(("name", "language"), CASES, ids=map("-".join, CASES))
def test_each_demand_stands_in_the_forms_that_make_it(name, language):
    paper, short = (text.lower() for text in texts(name, language))
    for demand in prompts.demands(name):
        if language in demand:
            assert demand[language].lower() in paper, demand["says"]
        made = dict(zip(prompts.LANGUAGES, demand.get("short", ()), strict=False)).get(language)
        assert made is None or made.lower() in short, demand["says"]


def test_every_demand_is_told_in_both_languages():
    for name in MARKDOWN:
        for demand in prompts.demands(name):
            assert {"says", "en", "zh"} <= set(demand) <= {"says", "en", "zh", "short"}, (name, demand)
            assert len(demand.get("short", prompts.LANGUAGES)) == 2
        assert len({demand["says"] for demand in prompts.demands(name)}) == len(prompts.demands(name))


@pytest.mark.parametrize("name", MARKDOWN)
def test_the_slots_are_those_that_are_listed_and_those_of_the_short_form(name):
    listed = prompts.short_texts(prompts.printed()[name], f"paper/{name}")["slots"]
    for language in prompts.LANGUAGES:
        paper, short = texts(name, language)
        assert sorted(slots(paper)) == sorted(listed) == sorted(slots(short))


def test_every_role_that_a_paper_prints_has_both_forms():
    assert {name for name, role in ROLES.items() if not role.paper} == set(UNPRINTED)
    for name, role in ROLES.items():
        assert role.words("short") is role.prompts
        assert role.words("paper") == (prompts.paper("roles", name) if role.paper else role.prompts)
        assert role.paper != role.prompts
    refused(partial(ROLES["qa"].prompt, "en", "long", context="", question=""), "form='long': expected one of short, paper")


def test_what_the_short_forms_leave_out():
    left = set(prompts.left_out("graph_answer"))
    assert {"work in four phases", "conflicts addressed explicitly", "hubs first"} <= left
    assert "JSON alone" not in prompts.left_out("grade")
    refused(lambda: prompts.left_out("entities"), "no paper prints a prompt 'entities': expected one of choice, ")


# Which form a model is sent


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("embedded", "short"),
        ("smollm2", "short"),
        ("mia_gen", "short"),  # an adapter of the embedded model, in a notebook's hands
        ("hf:Qwen/Qwen3-8B", "paper"),
        ("openai:gpt-4o", "paper"),
        ("replay:some.jsonl", "paper"),
    ],
)
def test_only_the_embedded_model_and_its_adapters_are_sent_the_short_form(name, form):
    assert form_of(SimpleNamespace(name=name)) == form
    model = llm.LanguageModel(Stub(in_turn(), name=name))
    assert model.form == Meter(model).form == form_of(Meter(model)) == form
    assert llm.LanguageModel(Scripted(in_turn(), form=form)).form == form  # a script is sent what it asks for


@pytest.mark.parametrize(("name", "form"), [("embedded", "short"), ("openai:gpt-4o", "paper")])
def test_a_recording_is_asked_as_its_model_was(tmp_path, name, form):
    path = tmp_path / "said.jsonl"
    model = llm.LanguageModel(Stub(in_turn("the smith"), name=name), record=path)
    role, values = ROLES["qa"], {"context": "Ann is the smith.", "question": "Who is Ann?"}
    assert ask(model, role, [role.prompt(form=model.form, **values)], tokens=9)[0].value == "the smith"
    replayed = llm.load(f"replay:{path}")
    assert replayed.form == form
    assert ask(replayed, role, [role.prompt(form=replayed.form, **values)], tokens=9)[0].value == "the smith"


WON = {"Winner": "Answer 2", "Explanation": "It says more."}
REPLY = {
    "choice": '{"answer": "B", "reasoning": "Ann walks to the mill."}',
    "pairwise": json.dumps(dict.fromkeys(roles.Wins.model_fields, WON)),
    "claim": "<explanation>She is.</explanation>\n<answer>TRUE</answer>",
    "silver_chunks": "[0, 2]",
}


@pytest.mark.parametrize("name", REPLY)
@pytest.mark.usefixtures("key")
def test_a_server_is_sent_the_papers_form_and_its_reply_is_read(name):
    role = ROLES[name]
    with Server(says(REPLY[name])) as server:
        model = at(server)
        prompt = role.prompt("en", form_of(model), **{slot: f"[{slot}]" for slot in slots(role.prompts["en"])})
        [answer] = ask(model, role, [prompt])
        [body] = server.requests
    assert prompt == role.paper["en"].format(**{slot: f"[{slot}]" for slot in slots(role.paper["en"])})
    assert body["messages"] == [{"role": "user", "content": prompt}] and PAPER_LONGEST in body.values()
    assert answer.value is not None and not answer.unread
    if role.asks:
        sent = body["response_format"]["json_schema"]
        assert sent["strict"] and list(sent["schema"]["properties"]) == list(role.asks.model_fields)


# What the papers' forms ask for is read


def test_a_choice_is_read_from_json_or_a_letter():
    role = ROLES["choice"]
    assert role.parse(REPLY["choice"])[0] == Choice(explanation="Ann walks to the mill.", answer="B")
    assert role.parse('```json\n{"answer": "(b)", "reasoning": "so"}\n```')[0].answer == "B"
    assert LETTER.parse("C")[0].answer == "C" and LETTER.reply("paper") is None
    for bad in ('{"answer": "the mill", "reasoning": "so"}', '{"answer": "A or B"}'):
        refused(partial(role.parse, bad), "no single letter of A to D", ValueError)


OUTLINES = {
    "one line": "- opens the story: Ann leaves\n- ends it: Tom comes home",
    "two lines": "- Role: opens the story\n  Summary: Ann leaves\n- Role: ends it\n  Summary: Tom comes home",
    "zh": "- 作用：开端\n  内容概要：安离开\n- 作用：结尾\n  内容概要：汤姆回家",
}


@pytest.mark.parametrize("name", OUTLINES)
def test_an_outline_has_an_entry_with_role_and_summary_for_each_scenario(name):
    scenarios = "".join(f"\n<scenario>\n<chunk>{who} [MASK] it.</chunk>\nwhat\n</scenario>" for who in ("Ann", "Tom"))
    said, _ = ROLES["memory"].parse(f"<think>two</think>\n<outline>\n{OUTLINES[name]}\n</outline>{scenarios}")
    assert isinstance(said, roles.DocumentMemory) and len(said.outline) == len(said.scenario) == 2
    assert said.outline[0].startswith(("opens", "Role: opens", "作用：开端"))


def test_an_edit_may_carry_a_quote_too():
    """Section 3.2 has one in every edit, the prompt in those that add something: so it is taken, and not kept."""
    add = {"op": "add_node", "id": "ivo", "type": "entity", "content": "Ivo", "src": "Ivo sold"}
    edit = {"op": "edit_node", "id": "ivo", "content": "Ivo, the seller", "src": "the lamp"}
    operations, invalid = build.read_operations(json.dumps({"operations": [add, edit]}))
    graph, edits = apply_all(Graph("note"), operations, NOTE, WHOLE[0])
    assert not invalid and [e.reason for e in edits] == ["", ""]
    assert graph.nodes["ivo"].content == "Ivo, the seller" and graph.nodes["ivo"].src == "Ivo sold"


def test_a_memory_without_thoughts_is_asked_for_in_both_forms():
    for form in ("short", "paper"):
        for language in prompts.LANGUAGES:
            full, bare = (role.words(form)[language] for role in (ROLES["memory"], BARE))
            assert "<think>" in full and "<think>" not in bare and len(bare) < len(full)
            assert bare.splitlines()[-2:] == full.splitlines()[-2:]


@pytest.mark.parametrize("task", ["qa", "choice", "letter", "claim"])
@pytest.mark.parametrize("language", prompts.LANGUAGES)
def test_a_summary_stands_before_the_passages_in_both_forms(task, language):
    values = {"claim": "Ann left."} if task == "claim" else {"question": "Who left?"}
    values |= {"options_str": "A. Ann\nB. Tom"} if task in ("choice", "letter") else {}
    for form in ("short", "paper"):
        written = write(task, values, ["Ann left.", "It rained."], "A summary.", language, form)
        places = [written.summary, *written.chunks]
        assert [written.text[span.start : span.end] for span in places] == ["A summary.", "Ann left.", "It rained."]
        question = written.text[written.question.start : written.question.end]
        first = values.get("question", "Ann left.")
        assert question.startswith(first) and question.endswith(values.get("options_str", first))
        assert generation.summaries(form)[language].splitlines()[0] in written.text


def test_tools_differ_in_their_descriptions_alone():
    for short, paper in zip(tools_of("short"), tools_of("paper"), strict=True):
        a, b = (tool["function"]["parameters"] for tool in (short, paper))
        assert short["function"]["name"] == paper["function"]["name"] and a["required"] == b["required"]
        kinds = ({name: kind["type"] for name, kind in tool["properties"].items()} for tool in (a, b))
        assert next(kinds) == next(kinds)
        assert short["function"]["description"] != paper["function"]["description"]


def test_the_wording_of_a_query_is_part_of_its_form_where_it_is_the_papers():
    assert "wording" not in embedding.Form().stored and embedding.Form(wording="paper").stored["wording"] == "paper"
    refused(lambda: embedding.Form(wording="long"), "wording='long': expected one of short, paper")


# What the kit's functions send


NOTE = Document("note", "Ivo sold the lamp. Ann has it.")
WHOLE = [Chunk("note", 0, 0, len(NOTE.text))]
FINAL = '{"answer": "Ivo", "cited_nodes": [], "confidence": "high"}'
QUESTIONS = '{"questions": ["Why?", "What for?", "Who gains?"]}'
ROWS = [Row("Who sold it?", ("Ivo",), "the seller of lamps")]
SENT = {
    "chunk_summary": ("Ivo sold it.", lambda model: summaries.summarise_document(model, NOTE, WHOLE)),
    "session_summary": ("Ivo sold it.", lambda model: session.by_model(model)(NOTE, [WHOLE])),
    "entities": ("[]", lambda model: graphrag.build_graph(model, NOTE, WHOLE)),
    "pairwise": (REPLY["pairwise"], lambda model: graphrag.judged(model, [graphrag.Comparison("Who?", "a", "b")])),
    "sense_questions": (QUESTIONS, lambda model: graphrag.sense_questions(model, NOTE, WHOLE)),
    "sense_answer": ("Ivo did.", lambda model: graphrag.sense_answers(model, [("Why?", NOTE.text)])),
    "edits": ('{"operations": []}', lambda model: build.noted(NOTE, "Who?", model, blocks=WHOLE)),
    "graph_answer": (FINAL, lambda model: answer.answer_from(Graph("note"), NOTE, "Who?", model, chunks=1, rounds=0)),
    "grade": ('{"reason": "so", "correct": true}', lambda model: scoring.cascade(ROWS, model)),
    "memory": ("nothing", lambda model: extraction.paths(model, [NOTE], 1)),
    "qa": ("Ivo", lambda model: retrieval.answers(model, [NOTE.text], ["Who?"])),
}
OTHER = {"sense_questions": graphrag.SENSE_QUESTIONS, "sense_answer": graphrag.SENSE_ANSWER}


@pytest.mark.parametrize("name", SENT)
@pytest.mark.parametrize("model", ["embedded", "openai:m"])
def test_a_function_sends_the_form_of_its_model(name, model):
    reply, run = SENT[name]
    stub = Stub(lambda *_: reply, name=model)
    run(llm.LanguageModel(stub))
    role, form = ROLES.get(name) or OTHER[name], form_of(stub)
    heads = {name: role.words(name)["en"].split("{")[0] for name in ("short", "paper")}
    prompt = stub.requests[0][0][0]["content"]
    assert prompt.startswith(heads[form]) and len(heads[form]) > 10
    assert name in UNPRINTED or heads["short"] != heads["paper"]


def test_the_tools_of_a_server_are_described_as_the_paper_does():
    for name, tools in (("openai:m", PAPER_TOOLS), ("hf:m", PAPER_TOOLS), ("mine", TOOLS)):
        stub = Stub(lambda *_: FINAL, name=name)
        answer.answer_from(Graph("note"), NOTE, "Who?", llm.LanguageModel(stub), chunks=1, calling="tools")
        assert stub.requests[0][1] == tools
