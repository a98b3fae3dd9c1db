"""The items that a report shows, each with what every run made of it side by side.

It turns records into what a template prints: inert text in segments; no markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit_eval.record import Record
from ragkit_eval.report.answers import AnswerView, Passage, answer_view, passages
from ragkit_eval.report.inert import inert, language, line
from ragkit_eval.report.numbers import count, seconds
from ragkit_eval.report.pairs import Kind, Pair
from ragkit_eval.report.svg import letter
from ragkit_eval.report.texts import Extract, Shown, labels

_LABELS = {"ok": "right", "wrong": "wrong", "error": "error"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run made of an item. `prediction` is empty where it is the whole answer."""

    run: int
    status: str
    prediction: str
    answer: AnswerView | None
    error: str
    scores: tuple[tuple[str, str], ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item as it is printed. `prompt` is empty where it is the question, `cut` what is short."""

    anchor: str
    task: str
    id: str
    group: str
    kind: Kind
    change: str
    heading: str
    question: str
    prompt: str
    cut: str
    language: str
    targets: tuple[str, ...]
    no_target: str
    outcomes: tuple[Outcome | None, ...]
    passages: tuple[Passage, ...]
    marked: str


def item_views(chosen: Sequence[Pair], extracts: Sequence[Extract]) -> list[ItemView]:
    """Make what is printed of each chosen item."""
    return [_view(n, pair, extracts) for n, pair in enumerate(chosen, 1)]


def _view(n: int, pair: Pair, extracts: Sequence[Extract]) -> ItemView:
    shown = [extract.shown.get(pair.key) for extract in extracts]
    there = [one for one in shown if one is not None]
    first = there[0].record if there else Record(*pair.key, key="", status="error")
    question = first.question or first.prompt
    found = passages([one.record.detail if one else {} for one in shown])
    return ItemView(
        f"item-{n}",
        line(pair.key[0], 60),
        line(pair.key[1], 80),
        line(pair.group, 80),
        pair.kind,
        _change(pair),
        line(question) or "(no question was kept)",
        inert(question),
        inert(first.prompt) if first.prompt and first.prompt != question else "",
        _cut(there),
        language(question),
        tuple(inert(target) for target in first.targets),
        _no_target(there),
        tuple(None if one is None else _outcome(i, one) for i, one in enumerate(shown)),
        found,
        _legend(found),
    )


def _no_target(shown: Sequence[Shown]) -> str:
    unanswerable = any(labels(one.record.detail).get("answerable") is False for one in shown)
    return "none: the documents do not answer this" if unanswerable else "none is given"


def _legend(found: Sequence[Passage]) -> str:
    kinds = {kind for passage in found for piece in passage.text for kind in piece.kinds}
    said = {"quote": "Highlighted is what an answer quotes", "gold": "underlined what is labelled"}
    told = [text for kind, text in said.items() if kind in kinds]
    return "; ".join(told).capitalize() + "." if told else ""


def _change(pair: Pair) -> str:
    """Say each run's outcome: "A right, B wrong"."""
    return ", ".join(
        f"{letter(n)} {_LABELS[record.status] if record else 'not asked'}"
        for n, record in enumerate(pair.records)
    )


def _cut(shown: Sequence[Shown]) -> str:
    left_out: Mapping[str, int] = {
        name: max(one.cut.get(name, 0) for one in shown) for one in shown for name in one.cut
    }
    told = (f"{count(chars)} characters of the {name}" for name, chars in left_out.items())
    return ", ".join(told)


def _outcome(run: int, shown: Shown) -> Outcome:
    record = shown.record
    answer = answer_view(record.output, record.detail) if record.output or record.detail else None
    said = "".join(piece.text for piece in answer.text) if answer else ""
    prediction = inert(record.prediction)
    return Outcome(
        run,
        _LABELS[record.status],
        "" if _bare(prediction) == _bare(said) else prediction,
        answer,
        inert(record.error),
        tuple((line(name, 60), f"{value:.3f}") for name, value in record.scores.items()),
        tuple(_facts(record)),
    )


def _bare(text: str) -> str:
    """Leave out what a scorer does: citations' numbers and blanks."""
    return re.sub(r"\[\d+(?:, ?\d+)*\]|\s", "", text)


def _facts(record: Record) -> list[str]:
    facts = []
    if record.latency_s > 0:
        facts.append(seconds(record.latency_s))
    if record.usage:
        asked = record.usage.get("prompt_tokens", 0)
        said = record.usage.get("completion_tokens", 0)
        facts.append(f"{count(asked)} + {count(said)} tokens")
    if record.finish == "length":
        facts.append("cut at its token limit")
    if record.fallback:
        facts.append("read by the second rule")
    return facts
