"""What holds of every text metric in both scripts: identical texts, disjoint ones, empty ones.

BERTScore has tests of its own: disjoint texts do not score 0 with it, and it needs a model.
"""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit_eval.metrics.metric import TextMetric
from ragkit_eval.metrics.registry import names, text_metric

# Without synonyms: two of the words drawn may happen to be some.
METRICS = [
    *(name for name in names() if name not in ("bertscore", "meteor")),
    "rouge-3",
    "rouge-1:stem",
    "rouge-s0",
    "rouge-l:pool",
    "rouge-2:jackknife",
    "rouge-su4:1.5.5",
    "meteor:wordnet=none",
]


def words_of(letters: str) -> st.SearchStrategy[str]:
    """Draw English texts of at least four words, more than one-letter articles."""
    word = st.text(letters, min_size=2, max_size=8)
    return st.lists(word, min_size=4, max_size=12).map(" ".join)


LOW_ENGLISH, HIGH_ENGLISH = words_of("bcdefghijklm"), words_of("noprtuvwxz")
LOW_CHINESE = st.text("北京大学红楼梦曹雪芹", min_size=4, max_size=20)
HIGH_CHINESE = st.text("上海交通西游记吴承恩", min_size=4, max_size=20)
PAIRS = st.one_of(
    st.tuples(LOW_ENGLISH, HIGH_ENGLISH),
    st.tuples(LOW_CHINESE, HIGH_CHINESE),
    st.tuples(LOW_ENGLISH, HIGH_CHINESE),
)
EITHER = st.one_of(LOW_ENGLISH, HIGH_ENGLISH, LOW_CHINESE, HIGH_CHINESE)


@pytest.mark.parametrize("name", METRICS)
def test_identical_texts_score_one(name: str) -> None:
    metric = text_metric(name)

    @given(EITHER)
    @settings(max_examples=25, deadline=None, derandomize=True)
    def check(text: str) -> None:
        # METEOR of 2005 gives a text of m words 1 - 0.5 / m^3 against itself
        identical = 1 - 0.5 / _count(text) ** 3 if name.startswith("meteor") else 1.0
        assert metric.item(text, [text]) == pytest.approx(identical, abs=1e-9)
        assert metric.corpus([text], [[text]]) == pytest.approx(identical, abs=1e-9)

    check()


@pytest.mark.parametrize("name", METRICS)
def test_disjoint_texts_score_zero(name: str) -> None:
    metric = text_metric(name)

    @given(PAIRS)
    @settings(max_examples=25, deadline=None, derandomize=True)
    def check(texts: tuple[str, str]) -> None:
        text, unrelated = texts
        values = [
            metric.item(text, [unrelated]),
            metric.item(unrelated, [text]),
            metric.corpus([text, unrelated], [[unrelated], [text]]),
        ]
        if name == "1-ter":  # as many edits as words of the longer text
            assert max(values) <= 0
        else:
            assert values == [0, 0, 0]

    check()


@pytest.mark.parametrize("name", METRICS)
def test_values_lie_between_and_neither_order_matters(name: str) -> None:
    metric = text_metric(name)
    mixed = st.lists(st.sampled_from("the cat sat 北 京 on mat 大 学".split()), max_size=8)
    texts = mixed.map(" ".join)

    @given(texts, st.lists(texts, min_size=1, max_size=3), texts)
    @settings(max_examples=25, deadline=None, derandomize=True)
    def check(prediction: str, references: list[str], unrelated: str) -> None:
        value = metric.item(prediction, references)
        assert value <= 1
        assert value >= 0 or name == "1-ter"
        assert metric.item(prediction, references[::-1]) == pytest.approx(value)
        forth = metric.corpus([prediction, unrelated], [references, [prediction or "x"]])
        back = metric.corpus([unrelated, prediction], [[prediction or "x"], references])
        assert forth == pytest.approx(back)

    check()


# Prediction and reference: nothing given, nothing wanted, nothing either way.
EMPTY = {
    "reference_recall": (0, 0, 1),
    "contains": (0, 0, 1),
    "exact_match": (0, 0, 1),
    "token_f1": (0, 0, 1),
    "1-ter": (0, 0, 1),
}


@pytest.mark.parametrize("name", METRICS)
def test_empty_texts_have_a_stated_answer(name: str) -> None:
    """Answers that should be empty and are, are right; in a text metric nothing is in common."""
    metric = text_metric(name)
    values = (metric.item("", ["x y"]), metric.item("x y", [""]), metric.item("", [""]))
    assert values == EMPTY.get(name, (0, 0, 0))


@pytest.mark.parametrize("change", [str.upper, str.lower])
def test_case_does_not_matter_but_to_bleu_and_chrf(change: Callable[[str], str]) -> None:
    for name in METRICS:
        if not name.startswith(("bleu", "chrf")):
            value = text_metric(name).item(change("The Cat sat"), ["the cat SAT down"])
            assert value == text_metric(name).item("The Cat sat", ["the cat SAT down"]), name


def _count(text: str) -> int:
    from ragkit_eval.metrics.words import words

    return len(words(text))


def test_every_metric_is_a_text_metric_with_a_signature_of_its_own() -> None:
    metrics: list[TextMetric] = [text_metric(name) for name in METRICS]
    assert len({metric.signature for metric in metrics}) == len(metrics)
    assert all("|v:" in metric.signature for metric in metrics)
