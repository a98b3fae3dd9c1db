"""ROUGE where ROUGE-1.5.5's output does not reach: lines, references, Chinese, the paper's cases.

rouge_score's values: rouge_score 0.1.2,
`RougeScorer(["rouge1", "rouge2", "rougeL", "rougeLsum"]).score(REFERENCE, PREDICTION)`.
"""

import itertools
import random
from functools import partial

import pytest

from ragkit.errors import UsageError
from ragkit_eval.metrics import rouge_s as rouge_s_module
from ragkit_eval.metrics import rouge_w as rouge_w_module
from ragkit_eval.metrics.rouge import Overlap, over_references, ratios
from ragkit_eval.metrics.rouge_l import lcs_length, rouge_l, rouge_lsum
from ragkit_eval.metrics.rouge_n import rouge_n
from ragkit_eval.metrics.rouge_s import rouge_s
from ragkit_eval.metrics.rouge_w import rouge_w

PREDICTION = "The quick brown fox jumps over the lazy dog.\nIt did not stop, and it ran away."
REFERENCE = "A quick brown dog jumped over the lazy fox.\nThen it ran away and did not stop."

# prediction, reference, Lsum's P, R and F, L's P, R and F; as rouge_score prints them
LINES = [
    (
        "gamma alpha epsilon alpha\nalpha delta alpha gamma alpha alpha gamma\n"
        "alpha beta delta zeta delta gamma zeta",
        "zeta beta alpha alpha beta epsilon beta\ndelta beta alpha epsilon delta delta gamma",
        (0.5, 0.642857, 0.5625),
        (0.388889, 0.5, 0.4375),
    ),
    (
        "epsilon gamma zeta gamma beta beta\nalpha beta gamma gamma\n"
        "beta zeta alpha gamma epsilon alpha\ngamma zeta alpha delta epsilon epsilon",
        "gamma gamma epsilon alpha alpha beta epsilon alpha\n"
        "epsilon delta zeta epsilon beta gamma epsilon alpha\n"
        "gamma delta gamma beta beta epsilon",
        (0.772727, 0.772727, 0.772727),
        (0.5, 0.5, 0.5),
    ),
    (
        "zeta gamma alpha gamma beta alpha\nzeta beta gamma gamma zeta zeta\n"
        "alpha alpha delta alpha",
        "beta alpha gamma gamma\nbeta alpha zeta zeta delta epsilon gamma\n"
        "epsilon gamma gamma alpha delta alpha alpha beta\nalpha delta alpha delta",
        (0.875, 0.608696, 0.717949),
        (0.6875, 0.478261, 0.564103),
    ),
]


def test_the_values_of_rouge_score() -> None:
    assert rouge_n(PREDICTION, REFERENCE, n=1).f == pytest.approx(0.8235294117647058)
    assert rouge_n(PREDICTION, REFERENCE, n=2).f == pytest.approx(0.4375)
    assert rouge_l(PREDICTION, REFERENCE).f == pytest.approx(0.5294117647058824)
    assert rouge_lsum(PREDICTION, REFERENCE).f == pytest.approx(0.5294117647058824)


@pytest.mark.parametrize(("prediction", "reference", "lsum", "summary"), LINES)
def test_lines_as_rouge_score_has_them(
    prediction: str,
    reference: str,
    lsum: tuple[float, float, float],
    summary: tuple[float, float, float],
) -> None:
    by_line, joined = rouge_lsum(prediction, reference), rouge_l(prediction, reference)
    assert (by_line.precision, by_line.recall, by_line.f) == pytest.approx(lsum, abs=1e-6)
    assert (joined.precision, joined.recall, joined.f) == pytest.approx(summary, abs=1e-6)


def test_the_papers_example_of_sentences() -> None:
    """Lin 2004, section 3.1: S2 has ROUGE-L 3/4 and S3 2/4; ROUGE-2 tells no difference."""
    reference = "police killed the gunman"
    assert rouge_l("police kill the gunman", reference).recall == 3 / 4
    assert rouge_l("the gunman kill police", reference).recall == 2 / 4
    assert rouge_n("police kill the gunman", reference, n=2).f == pytest.approx(1 / 3)
    assert rouge_n("the gunman kill police", reference, n=2).f == pytest.approx(1 / 3)


def test_the_papers_skip_bigrams() -> None:
    """Lin 2004, section 5: of the reference's 6 pairs, S2 has 3, S3 has 1 and S4 has 2."""
    reference = "police killed the gunman"
    predictions = ("police kill the gunman", "the gunman kill police", "the gunman police killed")
    assert [rouge_s(text, reference).recall for text in predictions] == [3 / 6, 1 / 6, 2 / 6]
    # S5 of the paper has no pair in common, but each single word counts in ROUGE-SU: 4 of 10
    assert rouge_s("gunman the killed police", reference).f == 0
    assert rouge_s("gunman the killed police", reference, unigrams=True).recall == 4 / 10


def test_a_gap_of_zero_is_bigrams() -> None:
    bigrams = rouge_n(PREDICTION, REFERENCE, n=2)
    assert rouge_s(PREDICTION, REFERENCE, skip=0) == bigrams


def test_the_papers_weighted_subsequence() -> None:
    """Lin 2004, section 4: Y1 = A B C D H I K is as long a subsequence of X as Y2, but in a row."""
    reference = "A B C D E F G"
    in_a_row = rouge_w("A B C D H I K", reference, weight=2)
    scattered = rouge_w("A H B K C I D", reference, weight=2)
    assert in_a_row.f == pytest.approx(0.571, abs=5e-4)
    assert scattered.f == pytest.approx(0.286, abs=5e-4)
    assert rouge_w("A B C D H I K", reference, weight=1).f == rouge_l("A B C D", reference).recall


def test_the_original_departs_from_the_paper_for_equal_texts() -> None:
    assert rouge_w("a b c", "a b c").f == pytest.approx(1)
    printed = rouge_w("a b c", "a b c", original=True)
    assert printed.precision == pytest.approx(1)
    assert printed.recall == pytest.approx(3**-0.2)  # f(3) / f(f(3)) under the root: 3 / 3^1.2
    assert rouge_s("one", "one", unigrams=True).f == 1
    assert rouge_s("one", "one", unigrams=True, original=True).f == 0


def test_chinese_is_read_by_characters() -> None:
    # 红 楼 梦 | 红 楼 一 梦: 3 of 3 and 3 of 4 characters, in order; 1 of 2 and 1 of 3 pairs
    assert rouge_n("红楼梦", "红楼一梦").precision == 1
    assert rouge_n("红楼梦", "红楼一梦").recall == 3 / 4
    assert rouge_l("红楼梦。", "《红楼一梦》").recall == 3 / 4
    assert rouge_n("红楼梦", "红楼一梦", n=2).f == pytest.approx(2 / 5)


def test_other_scripts_are_not_dropped() -> None:
    """rouge_score gives 0 for each of these, as it keeps a-z and 0-9 alone."""
    assert rouge_n("Привет мир", "привет, мир!").f == 1
    assert rouge_l("café crème", "CAFÉ crème").f == 1


def test_stems_of_irregular_and_regular_words() -> None:
    assert rouge_n("dogs running", "dog runs").f == 0
    assert rouge_n("dogs running", "dog runs", stem=True).f == 1


def test_several_references() -> None:
    overlaps = [Overlap(1, 2, 4), Overlap(2, 4, 4), Overlap(4, 4, 4)]
    assert over_references(overlaps, "best").f == 1
    pooled = over_references(overlaps, "pool")
    assert (pooled.recall, pooled.precision) == (7 / 10, 7 / 12)
    # leaving out the third leaves 1/2 as the best F, else it is 1: (1 + 1 + 1/2) / 3
    assert over_references(overlaps, "jackknife").f == pytest.approx(2.5 / 3)
    by_f = [Overlap(2, 2, 10), Overlap(3, 6, 5), Overlap(1, 8, 1)]  # not by recall or precision
    assert over_references(by_f, "best") == ratios(by_f[1])
    for overlap in overlaps:
        ways = {over_references([overlap], several) for several in ("best", "pool", "jackknife")}
        assert len(ways) == 1


@pytest.mark.parametrize("several", ["best", "pool", "jackknife"])
def test_the_order_of_references_does_not_matter(several: str) -> None:
    references = ["a b c d", "a x", "c d e"]
    forth = rouge_n("a b x e", references, several=several)  # type: ignore[arg-type]
    back = rouge_n("a b x e", references[::-1], several=several)  # type: ignore[arg-type]
    assert forth.f == pytest.approx(back.f)


def test_the_length_of_a_subsequence_agrees_with_the_table() -> None:
    import random

    drawn = random.Random(5)
    for _ in range(300):
        a = tuple(drawn.choices("abcd", k=drawn.randrange(12)))
        b = tuple(drawn.choices("abcd", k=drawn.randrange(80)))
        assert lcs_length(a, b) == _table(a, b)


@pytest.mark.parametrize("skip", [None, 0, 1, 4, 30])
def test_long_texts_are_counted_as_short_ones_are(
    monkeypatch: pytest.MonkeyPatch, skip: int | None
) -> None:
    texts = [" ".join(random.Random(n).choices("abcdefg", k=20 + 7 * n)) for n in range(4)]
    for unigrams, original in ((False, False), (True, False), (True, True)):
        for prediction, reference in itertools.product(texts, texts):
            score = partial(rouge_s, skip=skip, unigrams=unigrams, original=original)
            monkeypatch.setattr(rouge_s_module, "_MAX_FEW", 10**9)
            few = score(prediction, reference)
            monkeypatch.setattr(rouge_s_module, "_MAX_FEW", -1)
            assert score(prediction, reference) == few


@pytest.mark.parametrize("original", [False, True])
def test_rouge_w_of_long_texts_is_that_of_short_ones(
    monkeypatch: pytest.MonkeyPatch, original: bool
) -> None:
    texts = [" ".join(random.Random(n).choices("abcdefg", k=20 + 7 * n)) for n in range(6)]
    for prediction, reference in itertools.product(texts, texts):
        monkeypatch.setattr(rouge_w_module, "_MAX_SHORT", 10**9)
        short = rouge_w(prediction, reference, original=original)
        monkeypatch.setattr(rouge_w_module, "_MAX_SHORT", -1)
        assert rouge_w(prediction, reference, original=original) == short


def test_the_original_takes_the_union_of_hits_of_each_line() -> None:
    """Worked out by hand; ROUGE-1.5.5 prints these values of these texts."""
    union = rouge_w("a1 b1 x1\nc1 d1 e1", "a1 b1 c1\nd1 e1", original=True)
    assert (union.recall, union.precision) == pytest.approx((0.74113, 0.74540), abs=1e-5)
    # a word counts as often as both texts have it: the second line has no hit left
    twice = rouge_w("a1 b1", "a1 b1\na1 b1", original=True)
    assert (twice.recall, twice.precision) == pytest.approx((0.43528, 1.0), abs=1e-5)
    # a run that ends with a word that does not count goes on with the next one
    carried = rouge_w("a1 b1\nd1 e1", "b1\na1 b1 c1 d1 e1", original=True)
    assert (carried.recall, carried.precision) == pytest.approx((0.46279, 0.91385), abs=1e-5)
    # the paper's has no lines
    assert rouge_w("a b\nc", "a\nb c") == rouge_w("a b c", "a b c")


def test_texts_of_which_rouge_w_would_take_minutes_are_refused() -> None:
    long = "word " * 20_001
    with pytest.raises(UsageError, match="20,001 and 20,001 words would take minutes"):
        rouge_w(long, long)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(UsageError, match="there is no ROUGE-0"):
        rouge_n("a", "a", n=0)
    with pytest.raises(UsageError, match="at least one reference"):
        rouge_l("a", [])
    with pytest.raises(UsageError, match="gap of ROUGE-S is -1 words"):
        rouge_s("a", "a", skip=-1)
    with pytest.raises(UsageError, match=r"weight of ROUGE-W is 0\.5"):
        rouge_w("a", "a", weight=0.5)
    with pytest.raises(UsageError, match=r"weight of ROUGE-W is inf: it must be 1 to 8"):
        rouge_w("a", "a", weight=float("inf"))
    with pytest.raises(UsageError, match="as best, pool, jackknife, not 'pooled'"):
        rouge_n("a", ["a", "b"], several="pooled")  # type: ignore[arg-type]


def _table(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    row = [0] * (len(b) + 1)
    for word in a:
        above, row = row, [0]
        for j, b_word in enumerate(b):
            row.append(above[j] + 1 if word == b_word else max(row[j], above[j + 1]))
    return row[-1]
