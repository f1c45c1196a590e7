"""The table of benchmarks: what reads each, which files it needs and who publishes them, its licence, score and prompt.

Scores and prompts are named, not run, and a function of `mindscape.metrics` that only comes near the owners' score says
so. What could not be confirmed from the owners' own files says "not confirmed".
"""

from dataclasses import replace

from mindscape.corpora.benchmarks import (
    crud_rag,
    detectiveqa,
    infinitebench,
    longbench,
    loogle,
    narrativeqa,
    nocha,
    novelhopqa,
    omnieval,
    qmsum,
)
from mindscape.corpora.benchmarks.shapes import COLLECTION, Benchmark, Files, Metric, Prompt

HUB = "https://huggingface.co/datasets"
GITHUB = "https://github.com"
AS_LINES = "a line of Python writes it: datasets.load_dataset({!r}, {}).to_json({!r}, force_ascii=False)"

ACCURACY = Metric("accuracy of the option letter", ("accuracy",))
ROUGE_ONLY = "ROUGE-1 and ROUGE-2 are not in the kit"
NEEDLE = Metric("accuracy: the right string among the words of the reply", (), "the owners' parsing is not in the kit")
ABSTRACTIVE = Metric(
    "BLEU-1 and BLEU-4, METEOR, ROUGE-L, the best over both answers",
    ("bleu", "meteor", "rouge_l"),
    "MiA-RAG reports exact match and token F1 instead: exact_match, token_f1",
)
UNPROMPTED = Prompt("none published with the data")

TABLE: tuple[Benchmark, ...] = (
    Benchmark(
        name="narrativeqa",
        read=narrativeqa.read,
        files=(
            Files("questions", ("qaps.csv",), f"{GITHUB}/google-deepmind/narrativeqa", "qaps.csv"),
            Files("documents", ("documents.csv",), f"{GITHUB}/google-deepmind/narrativeqa", "documents.csv"),
            Files(
                "stories",
                ("tmp/*.content", "stories/*.content"),
                f"{GITHUB}/google-deepmind/narrativeqa/blob/master/download_stories.sh",
                "tmp/<document_id>.content",
                "the script fetches them beside documents.csv; gzip is read as well",
            ),
            Files(
                "summaries",
                ("third_party/wikipedia/summaries.csv", "summaries.csv"),
                f"{GITHUB}/google-deepmind/narrativeqa/tree/master/third_party/wikipedia",
                "third_party/wikipedia/summaries.csv",
                needed=False,
            ),
        ),
        licence="Apache-2.0; summaries under Wikipedia's licence; stories as their sites say",
        languages=("en",),
        metrics={"": ABSTRACTIVE},
        prompts={"": UNPROMPTED},
        parts=narrativeqa.PARTS,
    ),
    Benchmark(
        name="narrativeqa-hub",
        read=narrativeqa.read_hub,
        files=(
            Files(
                "rows",
                ("*.jsonl",),
                f"{HUB}/deepmind/narrativeqa",
                "test.jsonl, validation.jsonl or train.jsonl",
                AS_LINES.format("deepmind/narrativeqa", 'split="test"', "test.jsonl"),
            ),
        ),
        licence="Apache-2.0; summaries under Wikipedia's licence; stories as their sites say",
        languages=("en",),
        metrics={"": ABSTRACTIVE},
        prompts={"": UNPROMPTED},
        parts=narrativeqa.PARTS,
    ),
    Benchmark(
        name="nocha",
        read=nocha.read,
        files=(
            Files(
                "claims",
                ("data_sample/data_sample.json", "sample_data/data_sample.json", "data_sample.json"),
                f"{GITHUB}/marzenakrp/nocha/tree/main/data_sample",
                "data_sample/data_sample.json",
            ),
            Files(
                "books",
                ("data_sample/classic_books.pkl", "sample_data/classic_books.pkl", "classic_books.pkl"),
                f"{GITHUB}/marzenakrp/nocha/tree/main/data_sample",
                "data_sample/classic_books.pkl",
            ),
        ),
        licence="MIT; the four novels are in the public domain",
        languages=("en",),
        metrics={"": Metric("pair accuracy: both claims of a pair", ("pair_accuracy",))},
        prompts={
            "": Prompt(
                "prompts/prompt.txt",
                ("[book_text]", "[claim]"),
                "<explanation>…</explanation> <answer>TRUE or FALSE</answer>",
            )
        },
    ),
    Benchmark(
        name="detectiveqa",
        read=detectiveqa.read,
        files=(
            Files(
                "questions",
                ("anno_data_*/*_anno/*.json",),
                f"{HUB}/Phospheneser/DetectiveQA",
                "anno_data_en/human_anno/<novel_id>.json, and so on for zh and AIsup_anno",
            ),
            Files(
                "novels",
                ("novel_data_*/*.txt",),
                f"{HUB}/Phospheneser/DetectiveQA",
                "novel_data_en/<novel_id>-<title>.txt, and so on for zh",
                "the novels are in copyright: keep them to yourself",
            ),
        ),
        licence="Apache-2.0 for the questions; the novels are in copyright",
        languages=("en", "zh"),
        metrics={
            "": replace(
                ACCURACY, differs="the owners' second score, steps of reasoning that a judge finds, is not in the kit"
            )
        },
        prompts={"": Prompt("not confirmed")},
        parts=detectiveqa.PARTS,
    ),
    Benchmark(
        name="infinitebench",
        read=infinitebench.read,
        files=(
            Files(
                "rows",
                ("*.jsonl", "data/*.jsonl"),
                f"{HUB}/xinrongzhang2022/InfiniteBench",
                "longbook_qa_eng.jsonl, and so on, one file a task",
                "any of the twelve will do",
            ),
        ),
        licence="Apache-2.0 (code MIT)",
        languages=("en", "zh"),
        metrics={
            "": NEEDLE,
            "longbook_qa_eng": Metric("token F1, best over the answers", ("token_f1",)),
            "longbook_qa_chn": Metric("F1 over characters, best over the answers", ("token_f1",)),
            "longbook_choice_eng": ACCURACY,
            "longbook_sum_eng": Metric("ROUGE-Lsum", ("rouge_l",), "rouge_l takes the text as one sentence"),
            "longdialogue_qa_eng": Metric("accuracy: the first answer among the words of the reply, in capitals"),
            "code_debug": ACCURACY,
            "math_calc": Metric("the share of values that are right before the first wrong one"),
        },
        prompts={
            "": Prompt("src/prompt.py, one template a task and model", ("{context}", "{input}")),
            "longbook_qa_eng": Prompt("src/prompt.py", ("{context}", "{question}"), "a very short answer"),
            "longbook_qa_chn": Prompt("src/prompt.py", ("{context}", "{question}"), "a short answer, in Chinese"),
            "longbook_sum_eng": Prompt("src/prompt.py", ("{context}",)),
            "longdialogue_qa_eng": Prompt("src/prompt.py", ("{context}",), "one name"),
            "longbook_choice_eng": Prompt(
                "src/prompt.py",
                ("{context}", "{question}", "{OPTION_A}", "{OPTION_B}", "{OPTION_C}", "{OPTION_D}"),
                "one letter",
            ),
            "code_debug": Prompt(
                "src/prompt.py", ("{context}", "{OPTION_A}", "{OPTION_B}", "{OPTION_C}", "{OPTION_D}"), "one letter"
            ),
        },
        parts=infinitebench.PARTS,
    ),
    Benchmark(
        name="novelhopqa",
        read=novelhopqa.read,
        files=(
            Files(
                "rows",
                ("hop_*.jsonl", "hop_*.json", "hop_*.csv"),
                f"{HUB}/abhaygupta1266/novelhopqa",
                "hop_1.jsonl, hop_2.jsonl, hop_3.jsonl, hop_4.jsonl",
                AS_LINES.format(
                    "abhaygupta1266/novelhopqa", 'revision="refs/convert/parquet", split="hop_1"', "hop_1.jsonl"
                ),
            ),
            Files(
                "novels",
                ("novels/*",),
                "https://www.gutenberg.org",
                "novels/<title>.txt",
                "the 83 novels are not part of the benchmark",
                needed=False,
            ),
        ),
        licence="not confirmed; the novels are in the public domain",
        languages=("en",),
        metrics={
            "": Metric(
                "accuracy; how a reply is matched is not confirmed",
                ("exact_match", "token_f1"),
                "MiA-Signature reports token F1",
            )
        },
        prompts={"": Prompt("not confirmed")},
        parts=novelhopqa.PARTS,
    ),
    Benchmark(
        name="longbench-v2",
        read=longbench.read_v2,
        files=(
            Files("rows", ("data.json",), f"{HUB}/THUDM/LongBench-v2/resolve/main/data.json", "data.json", "465 MB"),
        ),
        licence="Apache-2.0 (code MIT)",
        languages=("en",),
        metrics={
            "": replace(
                ACCURACY, differs="the owners' table can count an unread reply as a quarter right; the kit does not"
            )
        },
        prompts={
            "": Prompt(
                "prompts/0shot.txt",
                ("$DOC$", "$Q$", "$C_A$", "$C_B$", "$C_C$", "$C_D$"),
                "The correct answer is (letter); a text that is too long is cut in the middle",
            )
        },
        parts=longbench.PARTS,
    ),
    Benchmark(
        name="multifieldqa-zh",
        read=longbench.read_multifieldqa,
        files=(
            Files(
                "rows",
                ("multifieldqa_zh.jsonl", "data/multifieldqa_zh.jsonl", "multifieldqa_zh.json"),
                f"{HUB}/THUDM/LongBench/resolve/main/data.zip",
                "multifieldqa_zh.jsonl",
                f"it is data/multifieldqa_zh.jsonl in the archive; MoM's copy without texts, multifieldqa_zh.json, is at "
                f"{GITHUB}/MemTensor/MoM",
            ),
        ),
        licence="MIT for LongBench; texts from many sources",
        languages=("zh",),
        metrics={"": Metric("F1 over jieba's words, qa_f1_zh_score", ("token_f1",), 'token_f1(…, "zh", unit="words")')},
        prompts={"": Prompt("config/dataset2prompt.json", ("{context}", "{input}"), "the answer alone, 64 tokens")},
    ),
    Benchmark(
        name="loogle",
        read=loogle.read,
        files=(
            Files(
                "rows",
                ("*.jsonl", "data/*.jsonl", "LooGLE-testdata/*.jsonl"),
                f"{HUB}/bigainlco/LooGLE",
                "longdep_qa.jsonl, shortdep_qa.jsonl, shortdep_cloze.jsonl, longdep_summarization.jsonl",
                f"any of the four will do; five texts of each are at {GITHUB}/bigai-nlco/LooGLE/tree/main/LooGLE-testdata",
            ),
        ),
        licence="MIT",
        languages=("en",),
        metrics={
            "": Metric(
                "BLEU-1 and BLEU-4, ROUGE-1, ROUGE-2 and ROUGE-L, METEOR, BERTScore, a model as judge",
                ("bleu", "rouge_l", "meteor"),
                "the owners take ROUGE's recall; BERTScore and their judge are not in the kit",
            ),
            "shortdep_cloze": Metric("exact and partial match, mask by mask", ("exact_match",), "one mask at a time"),
        },
        prompts={
            "": Prompt("config/task2prompt.json", ("{input}", "{Q}")),
            "shortdep_cloze": Prompt("config/task2prompt.json", ("{input}", "{Q}"), "an object from masks to entities"),
            "longdep_summarization": Prompt("config/task2prompt.json", ("{input}",)),
        },
        parts=loogle.PARTS,
    ),
    Benchmark(
        name="qmsum",
        read=qmsum.read,
        files=(
            Files(
                "meetings",
                ("data/ALL/jsonl/*.jsonl", "data/*/jsonl/*.jsonl", "*.jsonl", "data/ALL/*/*.json"),
                f"{GITHUB}/Yale-LILY/QMSum/tree/main/data",
                "data/ALL/jsonl/test.jsonl, and so on for val and train",
            ),
        ),
        licence="MIT; its authors ask for use in research only",
        languages=("en",),
        metrics={"": Metric("ROUGE-1, ROUGE-2 and ROUGE-L", ("rouge_l",), ROUGE_ONLY)},
        prompts={"": UNPROMPTED},
        parts=qmsum.PARTS,
    ),
    Benchmark(
        name="crud-rag",
        read=crud_rag.read,
        files=(
            Files(
                "rows",
                ("data/crud_split/split_merged.json", "split_merged.json"),
                f"{GITHUB}/IAAR-Shanghai/CRUD_RAG/tree/main/data/crud_split",
                "data/crud_split/split_merged.json",
            ),
            Files(
                COLLECTION,
                ("data/80000_docs/documents_*", "80000_docs/documents_*"),
                f"{GITHUB}/IAAR-Shanghai/CRUD_RAG/tree/main/data/80000_docs",
                "data/80000_docs/documents_dup_part_1_part_1, and so on, as they are called",
                "the collection to search",
                needed=False,
            ),
        ),
        licence="Apache-2.0 by a badge alone: do not pass it on",
        languages=("zh",),
        metrics={
            "": Metric(
                "BLEU, ROUGE-L, bertScore, RAGQuestEval",
                ("bleu", "rouge_l"),
                "over jieba's words, unit='words'; the owners take BLEU without brevity penalty; the other two ask models",
            )
        },
        prompts={
            "": Prompt("src/prompts/quest_answer.txt", ("{question}", "{search_documents}"), "<response>…</response>"),
            "hallu_modified": Prompt(
                "src/prompts/hallu_mod.txt",
                ("{begin}", "{hallu_continue}", "{search_documents}"),
                "<response>…</response>",
            ),
            "event_summary": Prompt(
                "src/prompts/summary.txt", ("{event}", "{search_documents}"), "<response>…</response>"
            ),
            "continuing_writing": Prompt(
                "src/prompts/continue_writing.txt", ("{beginning_text}", "{search_documents}"), "<response>…</response>"
            ),
        },
        parts=crud_rag.PARTS,
        collection=crud_rag.articles,
    ),
    Benchmark(
        name="omnieval",
        read=omnieval.read,
        files=(
            Files(
                "rows",
                ("gen_datas_*_final/**/*.jsonl", "**/*.jsonl", "omnieval.json"),
                f"{HUB}/RUC-NLPIR/OmniEval-AutoGen-Dataset",
                "gen_datas_<suffix>_final/<topics>/<task>.jsonl, the folders as they are",
                f"MoM's copy, omnieval.json, is at {GITHUB}/MemTensor/MoM, in evaldata",
                but="corpus.jsonl",
            ),
            Files(
                COLLECTION,
                ("corpus.jsonl", "**/corpus.jsonl"),
                f"{HUB}/RUC-NLPIR/OmniEval-KnowledgeCorpus",
                "corpus.jsonl",
                "the collection to search",
                needed=False,
            ),
        ),
        licence="MIT (code); the data's own is not confirmed",
        languages=("zh",),
        metrics={
            "": Metric(
                "MAP and MRR of the passages, ROUGE-L (not confirmed), and five scores by trained judges",
                ("rouge_l",),
                "MAP, MRR and the judges are not in the kit",
            )
        },
        prompts={"": Prompt("not confirmed")},
        parts=omnieval.PARTS,
        collection=omnieval.passages,
    ),
)
