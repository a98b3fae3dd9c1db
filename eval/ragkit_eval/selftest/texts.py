"""Check text metrics on cases computed by hand, and on identical and disjoint texts."""

from collections.abc import Iterator
from typing import NamedTuple

from ragkit_eval.metrics.registry import names, text_metric
from ragkit_eval.metrics.wordnet import open_wordnet
from ragkit_eval.selftest.check import Check, agreement, left_out

# chrF compares letters, so that disjoint texts must not share a letter.
_ENGLISH = ("cats sat on a mat near a tree", "high bluff dull big fly wild kid")
_CHINESE = ("今天的会议改到下午三点举行", "那只橘猫正趴沙发睡觉呢")
_WORDS = {"en": (8, 7), "zh": (13, 11)}  # of both texts, as METEOR and TER count them


class _Case(NamedTuple):
    metric: str
    prediction: str
    reference: str
    value: float
    why: str


def _weighted_recall(hits: float, *lines: int) -> float:
    """Return the recall of ROUGE-W in ROUGE-1.5.5: it weighs the sum over the lines once more."""
    base: float = sum(words**1.2 for words in lines) ** 1.2
    return float((hits / base) ** (1 / 1.2))


# Texts of several lines, prediction and reference: ROUGE-1.5.5 unites the hits of each line of the
# reference, and counts a word as often as both texts have it.
_UNION = ("a1 b1 x1\nc1 d1 e1", "a1 b1 c1\nd1 e1")
_TWICE = ("a1 b1", "a1 b1\na1 b1")
_CARRIED = ("a1 b1\nd1 e1", "b1\na1 b1 c1 d1 e1")
_BY_HAND = (
    _Case("rouge-1", "the cat sat", "the cat sat down", 6 / 7, "P 3/3, R 3/4"),
    _Case("rouge-2", "the cat sat", "the cat sat down", 0.8, "P 2/2, R 2/3"),
    _Case("rouge-l", "police kill the gunman", "police killed the gunman", 0.75, "Lin 2004"),
    _Case("rouge-s4", "police kill the gunman", "police killed the gunman", 0.5, "Lin 2004: 3/6"),
    _Case("rouge-w:1.5.5:recall", *_UNION, _weighted_recall(3**1.2 + 2**1.2, 3, 2), "all hit"),
    _Case("rouge-w:1.5.5:precision", *_UNION, ((3**1.2 + 2**1.2) / 6**1.2) ** (1 / 1.2), "of 6"),
    _Case("rouge-w:1.5.5:recall", *_TWICE, _weighted_recall(2**1.2, 2, 2), "the first line's"),
    _Case("rouge-w:1.5.5:recall", *_CARRIED, _weighted_recall(1 + 3**1.2, 1, 5), "b counts once"),
    _Case("rouge-lsum", *_TWICE, 2 / 3, "each word once: P 2/2, R 2/4"),
    _Case("rouge-1:stem", "the agreement", "agreeing", 0.0, "agreem and agre"),
    _Case("rouge-1:stem:recall", "documents and a technology", "technological", 1.0, "technolog"),
    _Case("token_f1", "the red car", "a red truck", 0.5, "articles out: 1 of 2 and 1 of 2"),
    _Case("exact_match", "The Eiffel Tower!", "eiffel tower", 1.0, "SQuAD's normalisation"),
    _Case("exact_match", "1889年。", "1889年", 1.0, "CMRC's rules, by a single character"),
    _Case("token_f1", "共3.5万人", "3.5万", 2 * 2 / (4 + 2), "the run 3.5 万"),
    _Case("1-ter", "b a c d", "a b c d", 0.75, "one move of four words"),
    _Case("contains", "It opened in 1889.", "1889", 1.0, "the reference stands there"),
    _Case("reference_recall", "It costs 40 euros", "40 euros a month", 0.5, "2 of 4 terms"),
    _Case("meteor:wordnet=none", "the cat sat", "the cat sat", 1 - 0.5 / 27, "1 - 0.5 (1/3)^3"),
    _Case("bleu:13a", "a b c d e", "a b c d f", (0.8 * 0.75 * 2 / 3 * 0.5) ** 0.25, "no brevity"),
)


def checks() -> Iterator[Check]:
    """Check cases computed by hand, and each metric on identical and disjoint texts."""
    expected, measured = {}, {}
    for case in _BY_HAND:
        name = f"{case.metric} ({case.why})"
        expected[name] = case.value
        measured[name] = text_metric(case.metric).item(case.prediction, [case.reference])
    yield agreement("text metrics", "worked out by hand", expected, measured, within=1e-6)
    yield from _synonyms()
    for language, texts in (("en", _ENGLISH), ("zh", _CHINESE)):
        yield _controls(language, *texts)


def _synonyms() -> Iterator[Check]:
    subject, oracle = "meteor, synonyms", "worked out by hand"
    if open_wordnet() is None:
        yield left_out(subject, oracle, "no WordNet: apt-get install wordnet-base")
        return
    measured = {"studies, works": text_metric("meteor").item("the studies", ["the works"])}
    yield agreement(subject, oracle, {"studies, works": 1 - 0.5 / 8}, measured, within=1e-6)


def _controls(language: str, text: str, disjoint: str) -> Check:
    """Check that identical texts score 1 (METEOR 1 - 0.5/m^3) and disjoint ones 0 (TER m/n).

    BERTScore is left out: no texts are disjoint to it.
    """
    expected: dict[str, float] = {}
    measured: dict[str, float] = {}
    words, disjoint_words = _WORDS[language]
    for name in names():
        if name == "bertscore":
            continue
        metric = text_metric(name)
        identical = 1 - 0.5 / words**3 if name == "meteor" else 1.0
        unlike = 1 - words / disjoint_words if name == "1-ter" else 0.0
        expected |= {f"{name}, identical": identical, f"{name}, disjoint": unlike}
        measured[f"{name}, identical"] = metric.item(text, [text])
        measured[f"{name}, disjoint"] = metric.item(text, [disjoint])
    return agreement(
        f"text metrics, {language}", "identical and disjoint texts", expected, measured, within=1e-6
    )
