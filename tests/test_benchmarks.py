"""The loaders of long-text benchmarks, on small invented files that hold the traps of each format."""

import ast
import gzip
import json
import os
import pickle
import re
import shutil
import struct
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
import yaml
from extras import JSON, refused
from hypothesis import given, settings
from hypothesis import strategies as st

import benchmarks
from benchmarks import files, novels
from mindscape import __main__ as command
from mindscape import metrics, paths
from mindscape.errors import InputError
from mindscape.text import Document

HERE = Path(__file__).parent / "fixtures" / "benchmarks"
NAMES = [benchmark.name for benchmark in benchmarks.TABLE]

COUNTS = ("rows", "items", "documents", "placed", "given")
EXPECTED = json.loads(HERE.with_suffix(".json").read_text(encoding="utf-8"))
ROWS = yaml.safe_load(HERE.with_name("benchmark_rows.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def loaded() -> dict[str, benchmarks.Loaded]:
    return {name: benchmarks.load_dataset(name, HERE) for name in NAMES}


def item(loaded, name: str, item_id: str) -> benchmarks.Item:
    return next(each for each in loaded[name].items if each.id == item_id)


def seen(loaded, name: str, each: benchmarks.Item) -> list[str]:
    """The texts of an item's evidence."""
    return [loaded[name].documents[passage.doc_id][passage] for passage in each.evidence]


def written(path: Path, content: bytes | str) -> Path:
    """The file, now with this in it."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def reasons(report: benchmarks.Report) -> dict[str, int]:
    return {reason: each.count for reason, each in report.rejected.items()}


# What holds for all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_row_is_accounted_for(loaded, name):
    report = loaded[name].report
    counts = {count: getattr(report, count) for count in COUNTS}
    assert counts | {"rejected": reasons(report), "notes": report.notes} == EXPECTED[name]
    assert report.rows == report.items + sum(reasons(report).values())
    assert report.items == len(loaded[name].items) and report.documents == len(loaded[name].documents)


@pytest.mark.parametrize("name", NAMES)
def test_items_have_one_shape(loaded, name):
    benchmark, documents = benchmarks.named(name), loaded[name].documents
    assert len({each.id for each in loaded[name].items}) == len(loaded[name].items)
    for each in loaded[name].items:
        assert each.question.strip() and each.answers and each.language in benchmark.languages
        assert not benchmark.parts or each.part in benchmark.parts
        assert not each.doc_id or each.doc_id in documents
        assert all(documents[passage.doc_id][passage].strip() for passage in each.evidence)
        assert not each.choice or each.options["ABCD".index(each.choice)] == each.answers[0]
        assert all(len(str(value)) < 400 for value in each.raw.values()), "the text is not kept twice"
        benchmark.metric(each.part), benchmark.prompt(each.part)
    for document in documents.values():
        assert document.language in benchmark.languages and document.meta["licence"] == benchmark.licence


@pytest.mark.parametrize("name", NAMES)
def test_a_document_comes_once_and_before_its_items(name):
    texts = []
    for piece in benchmarks.stream(name, HERE):
        if isinstance(piece, Document):
            assert piece.id not in texts
            texts.append(piece.id)
        else:
            assert {piece.doc_id, *(passage.doc_id for passage in piece.evidence)} - {""} <= set(texts)


@pytest.mark.parametrize("name", [name for name in NAMES if benchmarks.named(name).parts])
def test_parts_add_up_to_the_whole(loaded, name):
    items = []
    for part in benchmarks.named(name).parts:
        if any(each.part == part for each in loaded[name].items):
            items += benchmarks.load_dataset(name, HERE, part=part).items
        else:
            empty = partial(benchmarks.load_dataset, name, HERE, part=part)
            refused(empty, f"{part}' (in its files|can be used)|there is no row|none of the")
    assert sorted(items, key=lambda each: each.id) == sorted(loaded[name].items, key=lambda each: each.id)


def test_the_table_is_whole():
    assert len(set(NAMES)) == len(NAMES) == 12
    for benchmark in benchmarks.TABLE:
        assert "" in benchmark.metrics and "" in benchmark.prompts
        assert set(benchmark.metrics) | set(benchmark.prompts) <= {"", *benchmark.parts}
        assert all(hasattr(metrics, name) for metric in benchmark.metrics.values() for name in metric.kit)
        assert all(file.published.startswith("https://") and file.save_as for file in benchmark.files)
        assert any(file.needed for file in benchmark.files) and benchmark.licence


def test_nothing_is_evaluated():
    """No eval, no exec, no plain unpickling in the whole package: only the unpickler that refuses classes."""
    for path in Path(benchmarks.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in ("eval", "exec", "compile", "__import__", "pickle.load", "pickle.loads"), path.name


def test_a_limit_stops_early_and_says_so():
    few = benchmarks.load_dataset("infinitebench", HERE, limit=2)
    assert len(few.items) == 2 and few.report.rows == 2 and few.report.notes["stopped after 2 items"] == 1
    refused(lambda: benchmarks.load_dataset("infinitebench", HERE, limit=0), "limit is 0")


# Finding files ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_says_where_it_is_published_and_what_to_call_it(tmp_path, name):
    message = str(refused(lambda: benchmarks.load_dataset(name, tmp_path), "publish it at"))
    for wanted in benchmarks.named(name).files:
        said = f"publish it at {wanted.published}; save it in {tmp_path / name} as {wanted.save_as}"
        assert (said in message) == wanted.needed
    assert "\n" not in message


def test_the_folder_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("MINDSCAPE_BENCHMARKS", str(HERE))
    assert benchmarks.load_dataset("nocha").report.items == 4
    monkeypatch.chdir(tmp_path)  # a relative path counts from the checkout, whichever folder a process works in
    monkeypatch.setenv("MINDSCAPE_BENCHMARKS", str(HERE.relative_to(paths.root())))
    assert benchmarks.root() == HERE
    monkeypatch.setenv("MINDSCAPE_BENCHMARKS", str(tmp_path / "none"))
    refused(lambda: benchmarks.load_dataset("nocha"), "none: expected a folder")
    monkeypatch.delenv("MINDSCAPE_BENCHMARKS")
    refused(lambda: benchmarks.load_dataset("nocha"), "set MINDSCAPE_BENCHMARKS")


def test_a_wrong_name_or_part_is_named():
    refused(lambda: benchmarks.load_dataset("NoCha", HERE), "no benchmark 'NoCha': did you mean 'nocha'")
    said = "qmsum has no part 'dev': expected one of train, val, test"
    refused(lambda: benchmarks.load_dataset("qmsum", HERE, part="dev"), said)
    refused(lambda: benchmarks.load_dataset("nocha", HERE, part="x"), "nocha has no part 'x'")


def test_another_format_is_an_error_with_the_keys_it_has(folder):
    rows = [{"id": 0, "text": "A tale.", "query": "Who?", "answer": "Nobody"}] * 3
    path = written(folder / "novelhopqa" / "hop_1.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    (folder / "novelhopqa" / "hop_2.jsonl").unlink()
    said = f"none of the 3 rows can be used; 3 of them: book: Field required ({path}, line 1, which has the keys id, text, "
    refused(lambda: benchmarks.load_dataset("novelhopqa", folder), re.escape(said))


def test_the_command_lists_what_is_found_and_what_is_missing(folder, capsys, monkeypatch):
    (folder / "nocha" / "data_sample" / "classic_books.pkl").unlink()
    shutil.rmtree(folder / "crud-rag" / "data" / "80000_docs")
    shutil.rmtree(folder / "qmsum")
    monkeypatch.setenv("MINDSCAPE_BENCHMARKS", str(folder))
    command.main(["benchmarks"])
    said = capsys.readouterr().out
    assert {line.split(":")[0] for line in said.splitlines() if line and line[0] != " "} == {"folder", *NAMES}
    assert "\nnocha: missing" in said and "\nqmsum: missing" in said and "\ncrud-rag: found" in said
    assert "save as nocha/data_sample/classic_books.pkl" in said and "https://github.com/Yale-LILY/QMSum" in said
    assert "collection (can be left out): https://github.com/IAAR-Shanghai/CRUD_RAG" in said
    monkeypatch.delenv("MINDSCAPE_BENCHMARKS")
    command.main(["benchmarks"])
    assert "no folder: set MINDSCAPE_BENCHMARKS" in capsys.readouterr().out


def test_the_command_reads_and_reports(capsys):
    command.main(["benchmarks", "nocha", "loogle", "--folder", str(HERE)])
    said = capsys.readouterr().out
    assert "nocha: 13 rows read, 4 used, 9 rejected; 1 documents" in said
    assert "rejected 5: its pair is not one true and one false claim (first: " in said
    assert "evidence placed: 5 of 6 (83.3%)" in said
    assert "metric: pair accuracy" in said and "[book_text] [claim]" in said


def test_the_command_names_an_error_in_one_line(tmp_path):
    with pytest.raises(SystemExit, match="^error: nocha has no claims: [^\n]+$"):
        command.main(["benchmarks", "nocha", "--folder", str(tmp_path)])


# Reading files ---------------------------------------------------------------------------------------------------

VALUES = JSON | st.integers() | st.floats(allow_nan=False)


@settings(max_examples=150)
@given(st.lists(VALUES, max_size=5), st.integers(1, 9), st.sampled_from([None, 2]), st.booleans())
def test_a_list_read_piece_by_piece_is_the_list(tmp_path_factory, values, step, indent, ascii_only):
    path = tmp_path_factory.mktemp("list") / "data.json"
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only) + " \n"
    path.write_text(text, encoding="utf-8", errors="replace")
    whole = files.DECODER.decode(path.read_text(encoding="utf-8"))
    assert [value for _, value in files.json_list(path, step)] == whole


def test_a_large_list_is_read_in_little_memory(tmp_path):
    path = tmp_path / "data.json"
    row = {"_id": "x", "context": 'a "quoted" word, and } ] more. ' * 8000}
    with path.open("w", encoding="utf-8") as file:
        file.write("[" + ",\n".join(json.dumps(row | {"_id": str(number)}) for number in range(100)) + "]")
    size = path.stat().st_size
    tracemalloc.start()
    try:
        rows = sum(len(value["context"]) > 0 for _, value in files.json_list(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == 100 and size > 25e6 and peak < 8e6


LIST, LINES, CSV = files.json_list, files.json_lines, partial(files.csv_rows, columns=("id", "question"))


@pytest.mark.parametrize(
    "read, content, said",
    [
        (LIST, b'[{"a": 1}, {"a": 2', ", row 2 is not JSON: .*Is the download complete"),
        (LIST, b'[{"a": 1}', ", row 1 is not JSON: the file ends after it"),
        (LIST, b'[{"a": 1} ', ", after row 1: expected ',' or ']', found ''"),
        (LIST, b'[{"a": 1} {"a": 2}]', ", after row 1: expected ',' or ']', found '{'"),
        (LIST, b"[1, 2,]", ", row 3 is not JSON"),
        (LIST, b"[1, 2", ", row 2 is not JSON: the file ends after it"),
        (LIST, b"[1] [2]", ": something follows the list's ']'"),
        (LIST, b'{"rows": []}', r" does not begin with '\['"),
        (LIST, b"", r" does not begin with '\['"),
        (LIST, b"[" * 100_000, ", row 1 is not JSON"),
        (LIST, b"[" + b"9" * 5000 + b", 1]", ", row 1 is not JSON"),
        (LINES, b'{"id": 0}\n{"id": 1', ", line 2 is not JSON: .*Is the download complete"),
        (LINES, b'{"id": "\xff"}\n', ", line 1 is not UTF-8"),
        (LINES, b'{"id": 0}\n\n' + b"[" * 100_000, ", line 3 is not JSON"),
        (CSV, b"id,set\nx,test\n", ", line 1: no column question: expected it in the header, which has id, set"),
        (CSV, b"", ", line 1: no column id, question: .* which has nothing"),
        (CSV, b"id,question\na,b,c\n", ", line 2 has more cells than the header: expected 2"),
    ],
)
def test_a_broken_file_is_named(tmp_path, read, content, said):
    path = written(tmp_path / "data", content)
    refused(lambda: list(read(path)), f"{path}{said}")


def test_an_endless_row_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_ROW", 10_000)
    path = written(tmp_path / "data.json", '["' + "a" * 1_000_000)
    refused(lambda: list(files.json_list(path, 100)), "row 1 is not JSON: Unterminated string")


def test_lines_may_begin_with_a_mark_and_hold_any_break_but_theirs(tmp_path):
    path = written(tmp_path / "rows.jsonl", '\ufeff{"a": "x\u2028y\x85z"}\r\n\r\n[1]')
    assert [value for _, value in files.json_lines(path)] == [{"a": "x\u2028y\x85z"}, [1]]


def test_a_cell_may_hold_a_chapter(tmp_path):
    path = written(tmp_path / "hop_1.csv", 'book,context,question,answer\nA,"' + "long, " * 50_000 + '",Who?,Ann\n')
    assert len(next(files.csv_rows(path, ("context",)))[1]["context"]) == 300_000


# Code in data ----------------------------------------------------------------------------------------------------


class _Hostile:
    """What a pickle can do to whoever loads it."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("within", [lambda x: x, lambda x: {"a": x}, lambda x: {x: "a"}, lambda x: {"a": [x]}])
def test_a_hostile_pickle_is_refused(folder, tmp_path, protocol, within):
    crime = tmp_path / "crime"
    hostile = pickle.dumps(within(_Hostile(crime)), protocol=protocol)
    written(folder / "nocha" / "data_sample" / "classic_books.pkl", hostile)
    said = r"classic_books\.pkl: refused, it asks for \w+\.mkdir: expected a pickled dict"
    refused(lambda: benchmarks.load_dataset("nocha", folder), said)
    assert not crime.exists()


@pytest.mark.parametrize(
    "data, said",
    [
        (b"cbuiltins\neval\n(S'1'\ntR.", "builtins.eval"),
        (b"\x80\x02}" + b"\x82\x01.", "refused"),  # an object by its number in the extension registry
        (b"Pelsewhere\n.", "refused"),  # an object from elsewhere
        (b"\x80\x02}r\xff\xff\xff\x7f.", "stores under the number 2147483647"),
        (b"}p4294967296\n.", "stores under the number 4294967296"),
        (b"\x80\x05\x96" + struct.pack("<Q", 1 << 50) + b"x.", "refused"),  # a bytearray of a petabyte
        (pickle.dumps({"lamp": b"bytes"}), "found something else"),
        (pickle.dumps({1: "text"}), "found something else"),
        (pickle.dumps(["text"]), "found something else"),
        (pickle.dumps({"lamp": "text"})[:-4], "refused"),
        (b"", "refused"),
        (b"<html>404</html>", "refused"),
    ],
)
def test_a_pickle_of_anything_but_texts_is_refused(tmp_path, data, said):
    path = written(tmp_path / "books.pkl", data)
    refused(lambda: files.pickled(path), said)


@settings(max_examples=300)
@given(st.binary(max_size=40) | st.binary(max_size=20).map(lambda tail: b"\x80\x04}X\x04\0\0\0lamp" + tail))
def test_noise_is_refused_or_a_dict_of_texts(tmp_path_factory, data):
    path = written(tmp_path_factory.mktemp("noise") / "books.pkl", data)
    try:
        texts = files.pickled(path)
    except InputError:
        return
    assert all(isinstance(part, str) for pair in texts.items() for part in pair)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_texts_of_every_protocol_are_read(tmp_path, protocol):
    texts = {"lamp": "A lamp.\n灯", "mill": "A mill."}
    assert files.pickled(written(tmp_path / "books.pkl", pickle.dumps(texts, protocol=protocol))) == texts


def test_code_in_a_literal_does_not_run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    report = benchmarks.load_dataset("loogle", folder, part="longdep_qa").report
    assert report.rejected["qa_pairs: not a literal"].where.endswith("longdep_qa.jsonl, line 2")
    assert not (tmp_path / "OWNED").exists()


@pytest.mark.parametrize(
    "text", ["(" * 500, "[" * 100_000, "9" * 10_000, "1 +", "print(1)", "{}[0]", "{[]: 1}", "lambda: 1", "\0", "a" * 200_001]
)
def test_what_is_no_literal_is_a_value_error(text, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_LITERAL", 200_000)
    refused(lambda: files.literal(text), "not a literal|longer than", ValueError)


def test_a_name_in_a_file_is_no_path(loaded):
    """The fixtures have a story called ../outside; it is looked for among the stories, not on the disk."""
    assert (HERE / "narrativeqa" / "tmp" / "../outside.content").exists()
    lost = loaded["narrativeqa"].report.rejected["its story has not been fetched: expected tmp/<document_id>.content"]
    assert lost.count == 3


# Each format's traps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name, wanted", [(name, wanted) for name in NAMES for wanted in ROWS[name]])
def test_what_a_row_becomes(loaded, name, wanted):
    each = item(loaded, name, wanted["id"])
    fields = {key: list(value) if isinstance(value, tuple) else value for key, value in vars(each).items()}
    fields |= {"seen": seen(loaded, name, each), "raw": {key: each.raw[key] for key in wanted.get("raw", ())}}
    if "text" in wanted:
        fields["text"] = loaded[name].documents[each.doc_id].text[: len(wanted["text"])]
    assert {key: fields[key] for key in wanted} == wanted


def test_narrativeqa(loaded):
    ferry, train = (loaded["narrativeqa"].documents[letter * 40] for letter in "ab")
    assert ferry.text.endswith("and never went back.") and ferry.meta["summary"].endswith("\nShe sells her boat.")
    assert "café" in ferry.text and "\r" not in ferry.text  # a page in Windows-1252
    assert "It's late again." in train.text and "NORA" not in train.text and train.text.endswith("FADE OUT")


@pytest.mark.parametrize("data", [b"\x1f\x8b broken", gzip.compress(b"x" * 5000, mtime=0)[:-9]])
def test_narrativeqa_a_broken_story_costs_its_own_questions_alone(folder, data):
    path = written(folder / "narrativeqa" / "tmp" / f"{'b' * 40}.content", data)
    report = benchmarks.load_dataset("narrativeqa", folder).report
    assert report.items == 2 and any(f"{path} cannot be unpacked" in reason for reason in report.rejected)


def test_narrativeqa_a_page_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST", 100_000)
    path = written(tmp_path / "story.content", gzip.compress(b"x" * 1_000_000, mtime=0))
    refused(lambda: files.unpacked(path), "unpacks to more than")


def test_narrativeqa_from_the_hub(loaded):
    assert [each.part for each in loaded["narrativeqa-hub"].items] == ["test", "valid", "valid"]
    assert all("text" not in each.raw["document"] for each in loaded["narrativeqa-hub"].items)
    assert loaded["narrativeqa-hub"].documents["a" * 40].meta["summary"] == "A ferrywoman loses her trade."


def test_nocha_under_the_name_that_its_description_gives_the_folder(folder):
    (folder / "nocha" / "data_sample").rename(folder / "nocha" / "sample_data")
    assert benchmarks.load_dataset("nocha", folder).report.items == 4


def test_a_document_knows_its_title_or_its_topics(loaded):
    assert loaded["detectiveqa"].documents["en/1"].meta["title"] == "The Lamp in Room Nine"
    assert loaded["qmsum"].documents["ALL/test/1"].meta["topics"][0]["topic"] == "The weight of the remote"
    assert "ALL/test/2" in loaded["qmsum"].documents  # a meeting without queries


def test_detectiveqa_a_number_may_be_left_out():
    text, paragraphs = novels.numbered(Document("7-x", "Title\n[3] A.\n[4] B.\n[6] C.\n[900] D.\n[7] E."), "en/7")
    read = {number: text[place] for number, place in paragraphs.items()}
    assert read == {3: "A.", 4: "B.", 6: "C.\n[900] D.", 7: "E."}


def test_infinitebench_without_any_task_names_what_is_there(folder):
    for path in (folder / "infinitebench").glob("[lm]*.jsonl"):
        path.unlink()
    refused(lambda: benchmarks.load_dataset("infinitebench", folder), r"holds preds_passkey\.jsonl: expected a task's file")


def test_a_bad_page_of_the_hub_costs_its_own_row_and_a_blank_answer_nothing(tmp_path):
    (tmp_path / "narrativeqa-hub").mkdir()
    text = (HERE / "narrativeqa-hub" / "test.jsonl").read_text(encoding="utf-8").splitlines()[0]
    rows = [json.loads(text) for _ in range(3)]
    for i, row in enumerate(rows):
        row["document"] |= {"id": f"{i}" * 40, "start": "", "end": "", "text": "A song was sung."}
    rows[1]["document"]["text"] = "<html><body><p><![x y]>Call me Ann…"
    rows[2]["answers"] = [rows[2]["answers"][0] | {"text": "Ann"}, rows[2]["answers"][0] | {"text": " "}]
    (tmp_path / "narrativeqa-hub" / "test.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    dataset = benchmarks.load_dataset("narrativeqa-hub", tmp_path)
    assert [each.doc_id[0] for each in dataset.items] == ["0", "2"] and dataset.items[1].answers == ("Ann",)
    assert "is not a page of a book" in str(dataset.report)


def test_paragraphs_of_a_context_may_end_as_on_windows(tmp_path):
    novel = Document("n", "Rain fell on the road.\n\nMuch happened there.\n\nHe ran to the mill.", "en")
    spans, lost = novels._evidence("Rain fell on the road.\r\n\r\nHe ran to the mill.", novel)
    assert [novel[place] for place in spans] == ["Rain fell on the road.", "He ran to the mill."] and lost == ()


def test_novelhopqa_in_its_other_containers(folder):
    home = folder / "novelhopqa"
    rows = [json.loads(line) for line in (home / "hop_1.jsonl").read_text(encoding="utf-8").splitlines()]
    for path in home.glob("hop_*"):
        path.unlink()
    (home / "hop_1.json").write_text(json.dumps(rows), encoding="utf-8")
    as_list = benchmarks.load_dataset("novelhopqa", folder).items
    (home / "hop_1.json").unlink()
    lines = ["book,context,question,answer", *(",".join(f'"{value}"' for value in row.values()) for row in rows)]
    written(home / "hop_1.csv", "\n".join(lines))
    assert benchmarks.load_dataset("novelhopqa", folder).items == as_list and len(as_list) == 2


def test_multifieldqa_zh_copied_without_texts(folder):
    home = folder / "multifieldqa-zh"
    (home / "multifieldqa_zh.jsonl").unlink()
    shutil.copy(home / "copy" / "multifieldqa_zh.json", home)
    copied = benchmarks.load_dataset("multifieldqa-zh", folder)
    assert [each.doc_id for each in copied.items] == ["", ""] and copied.items[0].answers == ("1987年。",)
    assert copied.report.documents == copied.report.given == 0


def test_qmsum_by_domain_and_by_meeting(folder):
    shutil.rmtree(folder / "qmsum" / "data" / "ALL" / "jsonl")
    assert benchmarks.load_dataset("qmsum", folder).items[0].id == "Product/test/1/general/1"
    shutil.rmtree(folder / "qmsum" / "data" / "Product")
    assert benchmarks.load_dataset("qmsum", folder).items[0].id == "ALL/test/Toy001/general/1"


def test_crud_rag(loaded):
    first, second, event = (
        item(loaded, "crud-rag", name) for name in ("questanswer_1doc/q1", "questanswer_2docs/q1", "event_summary/s1")
    )
    assert first.evidence == second.evidence[:1] == event.evidence  # the same article, once with a date before it
    assert "news1" not in second.raw


def test_crud_rag_finds_its_articles_in_the_collection(loaded, folder):
    articles = {article.id: article for article in benchmarks.collection("crud-rag", HERE)}
    dates = sorted(article.meta.get("date", "") for article in articles.values())
    assert dates == ["", "2023-08-01 09:30:00", "2023-08-02 10:00:00"]
    three = item(loaded, "crud-rag", "questanswer_3docs/q1")
    assert [passage.doc_id in articles for passage in three.evidence] == [True, True, False]
    assert all(articles[passage.doc_id][passage] for passage in three.evidence[:2])
    shutil.rmtree(folder / "crud-rag" / "data" / "80000_docs")
    report = benchmarks.load_dataset("crud-rag", folder).report
    assert report.given == 0 and report.notes == {"the collection is not here: no evidence is looked for in it": 1}
    refused(lambda: benchmarks.collection("crud-rag", folder), "crud-rag has no collection: .*80000_docs; save it in")
    refused(lambda: benchmarks.collection("nocha", HERE), "nocha has no collection to search")


def test_crud_rag_of_another_shape_is_named(folder):
    for content, said in [
        ("[]", "holds list: expected an object"),
        ('{"rows": []}', "holds rows: expected"),
        ('{"event_summary": 7}', "event_summary is no list"),
        ('{"event_summary": [', "is not JSON"),
        ('{"event_summary": ["x"]}', "none of the 1 rows can be used; 1 of them: Input should be a valid dictionary"),
    ]:
        written(folder / "crud-rag" / "data" / "crud_split" / "split_merged.json", content)
        refused(lambda: benchmarks.load_dataset("crud-rag", folder), said)


def test_omnieval_s_collection():
    assert [text.meta["own_id"] for text in benchmarks.collection("omnieval", HERE)] == ["c1", "c2"]


def test_omnieval_copied_without_passages(folder):
    shutil.rmtree(folder / "omnieval")
    (folder / "omnieval").mkdir()
    written(folder / "omnieval" / "corpus.jsonl", "")
    # the collection is not taken for questions
    refused(lambda: benchmarks.load_dataset("omnieval", folder), "omnieval has no rows")
    written(folder / "omnieval" / "omnieval.json", '[{"question": "利率是多少？", "answer": "2.1%"}]')
    assert [each.answers for each in benchmarks.load_dataset("omnieval", folder).items] == [("2.1%",)]


JSONS = sorted(path.relative_to(HERE) for path in HERE.rglob("*.json*") if path.parent.name != "copy")


def with_something_odd(value, draw):
    """The value with one thing in it, chosen by `draw`, exchanged for anything."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        return value | {key: with_something_odd(value[key], draw)}
    if isinstance(value, list) and value and draw(st.integers(0, 5)):
        index = draw(st.integers(0, len(value) - 1))
        return [*value[:index], with_something_odd(value[index], draw), *value[index + 1 :]]
    return draw(VALUES)


@settings(max_examples=100)
@given(st.sampled_from(JSONS), st.data())
def test_a_value_of_any_shape_costs_its_row_or_is_named(tmp_path_factory, file, data):
    """Never a traceback: each row is used or rejected, or one error says which file is not as published."""
    home = tmp_path_factory.mktemp("odd")
    shutil.copytree(HERE / file.parts[0], home / file.parts[0])
    text = (HERE / file).read_text(encoding="utf-8")
    if file.suffix == ".jsonl":
        lines = text.splitlines()
        index = data.draw(st.integers(0, len(lines) - 1))
        lines[index] = json.dumps(with_something_odd(json.loads(lines[index]), data.draw))
        text = "\n".join(lines)
    else:
        text = json.dumps(with_something_odd(json.loads(text), data.draw))
    written(home / file, text)
    try:
        report = benchmarks.load_dataset(file.parts[0], home).report
    except InputError as error:
        assert str(home) in str(error)
    else:
        assert report.rows == report.items + sum(reasons(report).values())


def test_a_novel_that_cannot_be_read_costs_its_own_questions_alone(folder):
    home = folder / "novelhopqa"
    whole = benchmarks.load_dataset("novelhopqa", folder)
    novel = next(path for path in home.rglob("*.txt") if path.is_file())
    novel.write_bytes("Café".encode("latin-1"))
    loaded = benchmarks.load_dataset("novelhopqa", folder)
    assert 0 < len(loaded.items) < len(whole.items) and loaded.report.rows == whole.report.rows
    assert any("is not UTF-8" in reason for reason in loaded.report.rejected)


def test_a_length_that_is_none_is_rejected_in_each_part(folder):
    path = next((folder / "longbench-v2").glob("*.json*"))
    rows = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps([{**rows[0], "length": length} for length in ("short", "Short", None)]), encoding="utf-8")
    loaded = benchmarks.load_dataset("longbench-v2", folder, part="short")
    assert len(loaded.items) == 1 and sum(why.count for why in loaded.report.rejected.values()) == 2


def test_a_meeting_without_specific_queries_keeps_its_general_ones(folder):
    path = folder / "qmsum" / "data" / "ALL" / "jsonl" / "test.jsonl"
    whole = benchmarks.load_dataset("qmsum", folder, part="test")
    rows = [json.loads(line) | {"specific_query_list": None} for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    loaded = benchmarks.load_dataset("qmsum", folder, part="test")
    assert [item.id for item in loaded.items] == [item.id for item in whole.items if item.kind == "general"] != []
