"""Check metrics of answers and of excerpts on cases with obvious values."""

from collections.abc import Iterator
from typing import Any

from ragkit_eval.answers import (
    citation_recall,
    citation_validity,
    groundedness,
    language_match,
    refusal_scores,
)
from ragkit_eval.retrieval import span_scores
from ragkit_eval.selftest.check import Check, agreement
from ragkit_eval.sets import Excerpt
from ragkit_eval.stats import holm, mcnemar

_PASSAGES = {
    "en": "The main pump of the north hall weighs 40 kg. It was bought in 1998.",
    "zh": "北厅的主水泵重40公斤。它是1998年购买的。",
}
_ANSWERS = {
    "en": {
        "true": "The main pump of the north hall weighs 40 kg [1].",
        "another number": "The main pump of the north hall weighs 75 kg [1].",
        "made up": "Whales sleep upright near distant tropical islands [1].",
    },
    "zh": {
        "true": "北厅的主水泵重40公斤[1]。",
        "another number": "北厅的主水泵重75公斤[1]。",
        "made up": "鲸鱼在遥远海岛附近竖直睡觉[1]。",
    },
}


def checks() -> Iterator[Check]:
    """Check right answers, and answers with a known mistake."""
    for language, passage in _PASSAGES.items():
        yield _answers(language, passage)
    yield _excerpts()
    refusals = refusal_scores([True, True, False, False], [False, True, True, False])
    yield agreement(
        "refusals",
        "counted by hand",
        {"precision": 0.5, "recall": 0.5, "false refusals": 0.5},
        {
            "precision": refusals.precision or 0.0,
            "recall": refusals.recall or 0.0,
            "false refusals": refusals.false_refusals or 0.0,
        },
        within=1e-12,
    )
    yield _significance()


def _answers(language: str, passage: str) -> Check:
    expected: dict[str, float] = {}
    measured: dict[str, float] = {}
    for kind, text in _ANSWERS[language].items():
        answer = _answer(text, passage, quote=passage)
        right = float(kind == "true")
        metrics = {
            "citation validity": citation_validity(answer).score,
            "citation recall": citation_recall(answer),
            "groundedness": groundedness(answer).score,
        }
        expected |= {f"{name}, {kind}": right for name in metrics}
        measured |= {
            f"{name}, {kind}": value for name, value in metrics.items() if value is not None
        }
    true = _ANSWERS[language]["true"]
    misquoted = citation_validity(_answer(true, passage, quote=passage[::-1])).score
    elsewhere = _answer(true, passage, quote=passage) | {"hits": [], "used": []}
    expected |= {"misquoted": 0.0, "not retrieved": 0.0, "language": 1.0, "other language": 0.0}
    measured |= {
        "misquoted": misquoted if misquoted is not None else 1.0,
        "not retrieved": citation_validity(elsewhere).score or 0.0,
        "language": float(language_match(passage, true)),
        "other language": float(language_match("这是什么？", _ANSWERS["en"]["true"])),
    }
    return agreement(
        f"answers, {language}", "true, changed and made-up answers", expected, measured, within=0
    )


def _answer(text: str, passage: str, *, quote: str) -> dict[str, Any]:
    """Return the JSON of an answer that cites the complete passage."""
    place = {"document": 1, "uri": "pump.md", "title": "", "page": None, "start": 0}
    place |= {"end": len(passage)}
    hit = {**place, "text": passage}
    citation = {"n": 1, **place, "quote": quote, "verdict": "verified"}
    return {
        "answer": text,
        "refused": False,
        "citations": [citation],
        "hits": [hit],
        "used": [hit],
    }


def _excerpts() -> Check:
    scores = span_scores([Excerpt("a", 0, 10), Excerpt("b", 0, 10)], [Excerpt("a", 5, 20)])
    return agreement(
        "character spans",
        "counted by hand",
        {"recall": 5 / 20, "precision": 5 / 15, "iou": 5 / 30},
        {"recall": scores.recall, "precision": scores.precision, "iou": scores.iou},
        within=1e-12,
    )


def _significance() -> Check:
    """Check 9 items that became right and 1 that became wrong: 2 (1 + 10) / 2^10."""
    baseline, candidate = [0.0] * 9 + [1.0] + [1.0] * 5, [1.0] * 9 + [0.0] + [1.0] * 5
    first, second, third = holm([0.01, 0.04, 0.03])
    return agreement(
        "McNemar, Holm",
        "worked out by hand",
        {"McNemar": 22 / 1024, "Holm 1": 0.03, "Holm 2": 0.06, "Holm 3": 0.06},
        {
            "McNemar": mcnemar(baseline, candidate),
            "Holm 1": first,
            "Holm 2": second,
            "Holm 3": third,
        },
        within=1e-12,
    )
