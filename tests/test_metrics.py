"""Scores against hand computation, slow versions and other libraries; bad input; English and Chinese."""

import math
import re
import string
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from extras import refused
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import sentence_bleu
from scipy import stats

from mindscape import metrics
from mindscape.metrics import NoAnswer
from mindscape.text import fold

# Retrieval

IDS = st.lists(st.integers(0, 12), max_size=15)


@given(IDS, st.sets(st.integers(0, 12), min_size=1), st.integers(1, 20))
def test_recall_properties(ranked, relevant, k):
    any_hit, fraction = (f(ranked, relevant, k) for f in (metrics.recall_any_at_k, metrics.recall_fraction_at_k))
    assert 0 <= fraction <= any_hit <= 1 and (fraction > 0) == (any_hit == 1)
    assert fraction == sum(item in ranked[:k] for item in relevant) / len(relevant)  # slow
    assert metrics.recall_fraction_at_k(ranked, relevant, k + 1) >= fraction
    if len(relevant) == 1:
        assert fraction == any_hit


def test_a_duplicate_takes_a_place_and_counts_once():
    assert metrics.recall_fraction_at_k([1, 1, 2], [1, 2], k=2) == 0.5
    assert metrics.recall_fraction_at_k([1, 1, 2], [1, 1, 2], k=3) == 1


@pytest.mark.parametrize("recall", [metrics.recall_any_at_k, metrics.recall_fraction_at_k])
@pytest.mark.parametrize(
    ("ranked", "relevant", "k", "said"),
    [([1], [], 1, "relevant is empty"), ([1], [1], 0, "k is 0"), ("c1", ["c1"], 1, "ids"), (["c1"], "c1", 1, "ids")],
)
def test_recall_refuses(recall, ranked, relevant, k, said):
    refused(lambda: recall(ranked, relevant, k), said)


# Answers


def squad(text: str) -> str:
    """SQuAD's normalisation as its authors describe it, for ASCII."""
    kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())


@given(st.text(st.characters(max_codepoint=126, min_codepoint=9)))
def test_normalisation_is_squads_on_ascii(text):
    assert metrics.normalise(text, "en") == squad(text)


def test_normalise():
    assert metrics.normalise("“The King’s  — Ghost…”", "en") == "kings ghost"
    assert metrics.normalise("An other, the Theban", "en") == "other theban"
    assert metrics.normalise("cafe\u0301", "en") == "café"  # a combining accent
    assert metrics.normalise("", "en") == ""
    assert metrics.normalise("《红楼梦》——第１２０回。", "zh") == "红楼梦第120回"
    assert metrics.normalise("“是的”， 他说\n", "zh") == "是的他说"
    assert metrics.normalise("ＡＢＣ（ok）", "zh") == "abcok"


ANSWER = st.text(alphabet="abc 王子鬼，.", min_size=1).filter(str.strip)


@given(ANSWER, ANSWER, st.sampled_from(["en", "zh"]))
def test_token_f1_properties(a, b, language):
    def slow(a, b):
        a, b = (metrics.normalise(text, language) for text in (a, b))
        a, b = (a.split(), b.split()) if language == "en" else (list(a), list(b))
        if not a or not b:
            return float(a == b)
        common = sum(min(a.count(token), b.count(token)) for token in set(a))
        return 0.0 if not common else 2 * (common / len(a)) * (common / len(b)) / (common / len(a) + common / len(b))

    f1 = metrics.token_f1(a, b, language)
    assert f1 == pytest.approx(slow(a, b)) == pytest.approx(metrics.token_f1(b, a, language))
    assert metrics.token_f1(a, [b, a], language) == 1 and metrics.token_f1("", a, language) == slow("", a)
    if metrics.exact_match(a, b, language):
        assert f1 == 1


TEXT_SCORES = [metrics.exact_match, metrics.token_f1, metrics.bleu, metrics.rouge_l, metrics.meteor]


@pytest.mark.parametrize("score", TEXT_SCORES)
@pytest.mark.parametrize(
    ("prediction", "references", "language", "said"),
    [
        ("a b", [], "en", "no reference"),
        ("a b", ["c", " "], "en", r"references\[1\]"),
        ("a b", [None], "en", r"references\[0\]"),
        (None, ["a"], "en", "the prediction is None"),
        ("a b", ["c"], "de", "unknown language 'de'"),
    ],
)
def test_text_scores_refuse(score, prediction, references, language, said):
    refused(lambda: score(prediction, references, language), said)


@pytest.mark.parametrize("score", TEXT_SCORES[1:])
def test_an_unknown_unit_is_refused(score):
    refused(lambda: score("王", ["王"], "zh", unit="letters"), "unknown unit 'letters'")


def test_accuracy_refuses():
    refused(lambda: metrics.accuracy([], []), "no predictions")
    refused(lambda: metrics.accuracy(["A"], ["A", "B"]), "1 predictions for 2")
    refused(lambda: metrics.accuracy(["A", None], ["A", "B"]), r"\[1\] is None")


def claims(*rows):
    return [dict(zip(("pair", "answer", "prediction"), row, strict=True)) for row in rows]


@given(st.lists(st.tuples(*[st.sampled_from([True, False, *NoAnswer])] * 2), min_size=1, max_size=12))
def test_pair_accuracy_properties(said):
    """The halves of a pair stand apart, and who did not answer is counted."""
    rows = [(pair, answer, halves[answer]) for answer in (True, False) for pair, halves in enumerate(said)]
    pairs, single = metrics.pair_accuracy(claims(*rows)), metrics.accuracy([r[2] for r in rows], [r[1] for r in rows])
    assert pairs.right == tuple(false is False and true is True for false, true in said)
    assert pairs.value == sum(pairs.right) / len(said) <= single.value
    for share in (pairs, single):
        silent = (sum(row[2] == why for row in rows) for why in NoAnswer)
        assert (share.refused, share.unparsable) == tuple(silent) and share.total == len(rows)
        assert share.total == share.answered + share.refused + share.unparsable


def test_pair_accuracy_refuses():
    def judged(*rows):
        return lambda: metrics.pair_accuracy(claims(*rows))

    refused(judged(), "no predictions")
    refused(judged((1, True, True)), "pair 1 has no claim that is False")
    refused(judged((1, True, True), (1, True, False)), "pair 1 has a second claim that is True")
    refused(judged((1, "True", True)), "the answer is 'True'")
    refused(judged((1, True, "TRUE")), "the prediction is 'TRUE'")
    refused(lambda: metrics.pair_accuracy([{"pair": 1, "answer": True}]), "record 0 lacks prediction")


# Words


def test_words():
    assert " ".join(metrics.words("O, the King's_ghost -- 'tis 2 a.m.", "en")) == "o the king's ghost tis 2 a m"
    assert metrics.words("第１幕：Hi!", "zh") == ["第", "1", "幕", "h", "i"]
    assert metrics.words("lu\u0308", "zh") == metrics.words("l\u00fc", "zh") == ["l", "\u00fc"]
    assert metrics.words("他是丹麦王子，Hamlet。", "zh", unit="words") == ["他", "是", "丹麦", "王子", "hamlet"]
    assert metrics.segment("他说：“是”。") == ["他", "说", "：", "“", "是", "”", "。"]


@given(st.text(st.characters(exclude_characters="Σ")))  # its lower case depends on its place
def test_words_leave_out_blanks_and_keep_every_letter(text):
    for unit in ("characters", "words"):
        words = metrics.words(text, "zh", unit)
        assert all(word.strip() for word in words)
        assert [c for c in "".join(words) if c.isalnum()] == [c for c in fold(text) if c.isalnum()]


def test_jieba_and_nltk_say_nothing():
    scores = "m.meteor('a', 'a', 'en'); m.rouge_l('a', 'a', 'en'); m.bleu('a', 'a', 'zh')"
    code = f"from mindscape import metrics as m; m.words('他是王子', 'zh', 'words'); {scores}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


# Overlap


def test_bleu_by_hand():
    bleu = metrics.bleu("the cat sat on the mat", ["the cat lay on the mat"], "en")
    # 5 of 6 words; the-cat, on-the, the-mat of 5; on-the-mat of 4; none of 3, smoothed to half a match
    assert bleu.precisions == (5 / 6, 3 / 5, 1 / 4, 0)
    assert (bleu.bleu_1, bleu.bleu_2) == pytest.approx((5 / 6, (5 / 6 * 3 / 5) ** (1 / 2)))
    assert bleu.bleu_3 == pytest.approx((5 / 6 * 3 / 5 * 1 / 4) ** (1 / 3))
    assert bleu.bleu_4 == pytest.approx((5 / 6 * 3 / 5 * 1 / 4 * (1 / 2) / 3) ** (1 / 4))
    assert bleu.average == pytest.approx((bleu.bleu_1 + bleu.bleu_2 + bleu.bleu_3 + bleu.bleu_4) / 4)
    assert bleu.brevity_penalty == 1


def test_bleu_by_hand_in_chinese():
    bleu = metrics.bleu("王子见鬼", ["王子见到鬼"], "zh")  # 王子, 子见 of 3 bigrams; 王子见 of 2; 4 characters of 5
    assert bleu.precisions == (1, 2 / 3, 1 / 2, 0)
    assert bleu.brevity_penalty == pytest.approx(math.exp(1 - 5 / 4))
    assert bleu.bleu_3 == pytest.approx(math.exp(1 - 5 / 4) * (1 / 3) ** (1 / 3))
    bleu = metrics.bleu("丹麦王子死了。", ["丹麦国王死了。"], "zh", unit="words")  # 丹麦/王子/死/了/。
    assert bleu.precisions == (4 / 5, 2 / 4, 1 / 3, 0)


LETTERS = st.lists(st.sampled_from("abcd"), min_size=4, max_size=12)


@given(LETTERS, LETTERS)
def test_bleu_is_nltks_where_nothing_needs_smoothing(said, reference):
    bleu = metrics.bleu(" ".join(said), " ".join(reference), "en")
    for n, score in enumerate((bleu.bleu_1, bleu.bleu_2, bleu.bleu_3, bleu.bleu_4), start=1):
        if all(bleu.precisions[:n]):
            assert score == pytest.approx(sentence_bleu([reference], said, weights=[1 / n] * n))
        elif not bleu.precisions[0]:
            assert score == 0


def test_overlap_of_empty_and_of_short_texts():
    silent = metrics.meteor("", "ghost", "en").value
    assert (metrics.bleu("", "ghost", "en").average, metrics.rouge_l("", "ghost", "en"), silent) == (0, 0, 0)
    assert metrics.bleu("ghost", "ghost", "en").average == metrics.bleu("鬼", ["鬼"], "zh").average == 1


def lcs(a, b):
    if not a or not b:
        return 0
    return 1 + lcs(a[:-1], b[:-1]) if a[-1] == b[-1] else max(lcs(a[:-1], b), lcs(a, b[:-1]))


@settings(max_examples=50)
@given(st.text("王子鬼", min_size=1, max_size=6), st.text("王子鬼", min_size=1, max_size=6))
def test_rouge_l_against_the_definition(said, reference):
    common = lcs(said, reference)
    expected = pytest.approx(2 * common / (len(said) + len(reference)))
    assert metrics.rouge_l(said, reference, "zh") == expected
    assert metrics.rouge_l(*(" ".join(text.translate(LATIN)) for text in (said, reference)), "en") == expected


LATIN = str.maketrans("王子鬼", "kpg")


def test_rouge_l_by_hand():
    assert metrics.rouge_l("丹麦王子死了", ["鬼", "丹麦国王死了"], "zh", unit="words") == pytest.approx(3 / 4)


def test_meteor_by_hand():
    # ran/running have one stem: 3 words of 3, of 4 asked for; F = P·R / (0.9·P + 0.1·R); 2 chunks of 3 words
    meteor = metrics.meteor("boy runs home", "boy was running home", "en", synonyms=False)
    f_mean = 0.75 / (0.9 + 0.1 * 0.75)
    assert meteor.matching == "exact+stem" and meteor.value == pytest.approx(f_mean * (1 - 0.5 * (2 / 3) ** 3))
    # 4 characters of 4, of 5 asked for; 王子见 and 鬼: 2 chunks of 4
    meteor = metrics.meteor("王子见鬼。", ["王子见到鬼"], "zh")
    assert meteor.matching == "exact+stem" and meteor.value == pytest.approx(0.8 / (0.9 + 0.1 * 0.8) * (1 - 0.5 * (2 / 4) ** 3))


def test_meteor_says_when_it_used_synonyms(monkeypatch):
    lemma = SimpleNamespace(name=lambda: "fast")
    reader = SimpleNamespace(synsets=lambda word: [SimpleNamespace(lemmas=lambda: [lemma])] if word == "quick" else [])
    said, reference = "the automobile was quick", "the car was fast"
    monkeypatch.setattr(metrics, "_wordnet", lambda: reader)
    meteor = metrics.meteor(said, reference, "en")  # the, was, quick = fast: 3 of 4 words, 2 chunks
    assert meteor.matching == "exact+stem+synonym" and meteor.value == pytest.approx(0.75 * (1 - 0.5 * (2 / 3) ** 3))
    assert metrics.meteor(said, reference, "en", synonyms=False) == metrics.Meteor(0.25, "exact+stem")
    monkeypatch.setattr(metrics, "_wordnet", lambda: None)
    assert metrics.meteor(said, reference, "en") == metrics.Meteor(0.25, "exact+stem")


def test_a_wordnet_with_files_missing_is_named(tmp_path):
    (tmp_path / "corpora" / "wordnet").mkdir(parents=True, mode=0o755)
    run = [sys.executable, "-c", "from mindscape import metrics as m; m.meteor('a', 'b', 'en')"]
    done = subprocess.run(run, capture_output=True, text=True, env={"NLTK_DATA": str(tmp_path)})
    assert "InputError: nltk's WordNet lacks a file" in done.stderr


# Intervals


def test_bootstrap_is_scipys_percentile_bootstrap():
    values = np.random.default_rng(1).random(300)
    for statistic, level in ((np.mean, 0.95), (np.median, 0.6)):
        how = {"n_resamples": 4000, "method": "percentile", "confidence_level": level, "rng": np.random.default_rng(7)}
        theirs = stats.bootstrap((values,), statistic, **how).confidence_interval
        ours = metrics.bootstrap(values, statistic, resamples=4000, seed=7, level=level)
        assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
        assert (ours.value, ours.n) == (statistic(values), 300)


def test_drawing_in_pieces_changes_nothing(monkeypatch):
    values = np.random.default_rng(1).random(50)
    whole = metrics.bootstrap(values, resamples=1001)
    monkeypatch.setattr("mindscape.metrics._CELLS", 120)
    assert metrics.bootstrap(values, resamples=1001) == whole


@settings(max_examples=30)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=20), st.integers(0, 3))
def test_bootstrap_properties(values, seed):
    interval = metrics.bootstrap(values, resamples=200, seed=seed)
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9
    assert interval == metrics.bootstrap(np.array(values), resamples=200, seed=seed)
    wider = metrics.bootstrap(values, resamples=200, seed=seed, level=0.99)
    assert wider.low <= interval.low and interval.high <= wider.high


def test_each_value_its_own_group_is_the_plain_bootstrap():
    values = np.random.default_rng(3).random(40)
    plain, grouped = (metrics.bootstrap(values, groups=g, resamples=500) for g in (None, range(40)))
    assert grouped == plain


@given(st.lists(st.tuples(st.floats(-3, 3), st.integers(0, 4)), min_size=6, max_size=30), st.integers(0, 99))
def test_means_of_groups_from_their_sums(rows, seed):
    """The quick way, which the mean takes, against a statistic that has to see the values."""
    values, groups = zip(*rows, strict=True)
    assume(len(set(groups)) > 1)
    options = {"groups": groups, "resamples": 50, "seed": seed}
    quick = metrics.bootstrap(values, **options)
    slow = metrics.bootstrap(values, lambda a, axis: np.mean(a, axis), **options)
    assert [quick.low, quick.high] == pytest.approx([slow.low, slow.high], abs=1e-9)


@pytest.mark.parametrize("groups", [None, [0, 0, 0, 1, 1, 1]])
def test_what_rounding_leaves_of_zero_is_zero(groups):
    """0.1 + 0.2 - 0.3 is not 0 in floating point; an interval that ends there must not leave 0 out."""
    a, b = [0.3, 0.0, 0.0, 0.3, 0.0, 0.0], [0.0, 0.1, 0.2, 0.0, 0.1, 0.2]
    difference = metrics.paired_bootstrap(a, b, groups=groups, resamples=400)
    if groups:
        assert (difference.low, difference.high, difference.p) == (0, 0, 1)
    assert all(end == 0 or abs(end) > 1e-9 for end in (difference.low, difference.high))


def test_groups_of_unequal_size_by_hand():
    # groups (1, 1, 1) and (0): drawn twice the first 1/4, both 1/2 (mean 3/4), twice the second 1/4
    assert metrics.bootstrap([1, 1, 0, 1], groups=["a", "a", "b", "a"], level=0.4) == metrics.Interval(0.75, 0.75, 0.75, 4)


def test_paired_bootstrap_finds_what_two_intervals_hide():
    rng = np.random.default_rng(5)
    hard = rng.normal(size=80)
    a, b = hard + 0.3 + rng.normal(scale=0.3, size=80), hard + rng.normal(scale=0.3, size=80)
    difference = metrics.paired_bootstrap(a, b)
    assert difference.value == pytest.approx(a.mean() - b.mean()) and difference.low > 0 and difference.p < 0.01
    assert metrics.bootstrap(a).low < metrics.bootstrap(b).high
    t = stats.ttest_rel(a, b).confidence_interval()
    assert (difference.low, difference.high) == pytest.approx((t.low, t.high), abs=0.02)


@pytest.mark.parametrize("shift", [0.0, 0.1, 0.2, 0.3])
def test_p_value_is_near_the_t_tests(shift):
    d = np.random.default_rng(6).normal(size=200)
    d = d - d.mean() + shift
    assert metrics.paired_bootstrap(d, np.zeros(200)).p == pytest.approx(stats.ttest_1samp(d, 0).pvalue, abs=0.02)


@settings(max_examples=30)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=15))
def test_paired_bootstrap_properties(pairs):
    a, b = np.array(pairs).T
    difference, back = metrics.paired_bootstrap(a, b, resamples=200), metrics.paired_bootstrap(b, a, resamples=200)
    assert (difference.value, difference.low, difference.high) == pytest.approx((-back.value, -back.high, -back.low), abs=1e-9)
    assert difference.p == back.p and 0 < difference.p <= 1
    assert metrics.paired_bootstrap(a, a, resamples=200).p == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"values": []}, "at least two"),
        ({"values": [1.0]}, "at least two"),
        ({"values": [[1.0, 2.0]]}, "one dimension"),
        ({"values": [1.0, float("nan")]}, r"values\[1\] is nan"),
        ({"values": [float("inf"), 1.0]}, r"values\[0\] is inf"),
        ({"values": ["a", "b"]}, "not a number"),
        ({"values": [1, None]}, "nan|not a number"),
        ({"values": [1, 2], "groups": ["x"]}, "1 groups for 2 values"),
        ({"values": [1, 2], "groups": ["x", "x"]}, "one group"),
        ({"values": [1, 2], "level": 95}, "level is 95"),
        ({"values": [1, 2], "resamples": 0}, "resamples is 0"),
        ({"values": [1, 2], "statistic": lambda values, axis: values.mean(axis) * np.nan}, "not finite"),
    ],
)
def test_bootstrap_refuses(arguments, said):
    refused(lambda: metrics.bootstrap(**arguments), said)


def test_paired_bootstrap_refuses_unequal_lengths():
    refused(lambda: metrics.paired_bootstrap([1, 2], [1, 2, 3]), "a has 2 values and b has 3")


def test_paired_bootstrap_keeps_groups():
    a = np.repeat([1.0, 0.0, 1.0, 1.0], 10)
    groups = np.repeat(list("wxyz"), 10).tolist()
    assert metrics.paired_bootstrap(a, a * 0 + 0.5).p < metrics.paired_bootstrap(a, a * 0 + 0.5, groups=groups).p


def test_bootstrap_of_two_values_by_hand():
    # samples (0,0), (0,1), (1,0), (1,1): the mean is 0, 1/2, 1 with probability 1/4, 1/2, 1/4
    interval = metrics.bootstrap([0, 1], level=0.4)  # the quantiles at 0.3 and 0.7
    assert interval == metrics.Interval(0.5, 0.5, 0.5, 2)
    assert metrics.bootstrap([0, 1], level=0.6) == metrics.Interval(0.5, 0.0, 1.0, 2)  # at 0.2 and 0.8


@pytest.mark.parametrize(("groups", "low", "high"), [(np.repeat(np.arange(25), 6).tolist(), 0.89, 1), (None, 0, 0.75)])
def test_only_groups_cover_questions_that_hang_together(groups, low, high):
    rng, covered = np.random.default_rng(0), []
    for repetition in range(300):
        values = np.repeat(rng.normal(size=25), 6)  # six questions a book share its difficulty
        values += rng.normal(scale=0.5, size=150)
        interval = metrics.bootstrap(values, groups=groups, resamples=400, seed=repetition)
        covered.append(interval.low <= 0 <= interval.high)
    assert low <= np.mean(covered) <= high


def test_p_value_is_even_where_nothing_differs():
    rng = np.random.default_rng(7)
    ps = [metrics.paired_bootstrap(rng.random(60), rng.random(60), resamples=300).p for _ in range(300)]
    assert 0.02 <= np.mean(np.array(ps) < 0.05) <= 0.10


@pytest.mark.parametrize("said", NoAnswer)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_who_did_not_answer_did_not_answer_rightly(said, language):
    """Whatever the reference says, the words for a missing answer, too, and what normalisation leaves nothing of."""
    for reference in ("refused", "unparsable", "The", "A", "。"):
        assert metrics.exact_match(said, reference, language) == metrics.token_f1(said, reference, language) == 0
        assert metrics.rouge_l(said, reference, language) == metrics.bleu(said, reference, language).bleu_1 == 0
        assert metrics.meteor(said, reference, language).value == 0
    assert metrics.accuracy([said], ["refused"]).right == metrics.accuracy([said], ["unparsable"]).right == (False,)
