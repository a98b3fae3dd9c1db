"""Prepare the items of a report: safe text in segments, with each run's outcome."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragkit.report.safe_text import inert, line
from ragkit.report.svg import letter
from ragkit_eval.report.answers import AnswerView, Passage, answer_view, passages
from ragkit_eval.report.extract import CutRecord, Extract, labels
from ragkit_eval.report.numbers import count, seconds
from ragkit_eval.report.pairs import Kind, Pair
from ragkit_eval.report.safe_text import language
from ragkit_eval.run.record import Record

_LABELS = {"ok": "right", "wrong": "wrong", "error": "error"}


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run's outcome of an item. `prediction` is empty where it equals the answer."""

    run: int
    status: str
    prediction: str
    answer: AnswerView | None
    error: str
    scores: tuple[tuple[str, str], ...]
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item for the page.

    `prompt` is empty where it equals the question; `cut` names the shortened texts.
    """

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
    """Prepare each chosen item for the page."""
    return [_make_view(n, pair, extracts) for n, pair in enumerate(chosen, 1)]


def _make_view(n: int, pair: Pair, extracts: Sequence[Extract]) -> ItemView:
    by_run = [extract.records.get(pair.key) for extract in extracts]
    extracted = [item for item in by_run if item is not None]
    first = extracted[0].record if extracted else Record(*pair.key, key="", status="error")
    question = first.question or first.prompt
    item_passages = passages([item.record.detail if item else {} for item in by_run])
    return ItemView(
        f"item-{n}",
        line(pair.key[0], 60),
        line(pair.key[1], 80),
        line(pair.group, 80),
        pair.kind,
        _describe_change(pair),
        line(question) or "(no question was kept)",
        inert(question),
        inert(first.prompt) if first.prompt and first.prompt != question else "",
        _describe_cut(extracted),
        language(question),
        tuple(inert(target) for target in first.targets),
        _explain_no_target(extracted),
        tuple(None if item is None else _make_outcome(i, item) for i, item in enumerate(by_run)),
        item_passages,
        _make_legend(item_passages),
    )


def _explain_no_target(items: Sequence[CutRecord]) -> str:
    unanswerable = any(labels(item.record.detail).get("answerable") is False for item in items)
    return "none: the documents do not answer this" if unanswerable else "none is given"


def _make_legend(item_passages: Sequence[Passage]) -> str:
    kinds = {kind for passage in item_passages for piece in passage.text for kind in piece.kinds}
    explanations = {
        "quote": "Highlighted is what an answer quotes",
        "gold": "underlined what is labelled",
    }
    texts = [text for kind, text in explanations.items() if kind in kinds]
    return "; ".join(texts).capitalize() + "." if texts else ""


def _describe_change(pair: Pair) -> str:
    """List each run's outcome: "A right, B wrong"."""
    return ", ".join(
        f"{letter(n)} {_LABELS[record.status] if record else 'not asked'}"
        for n, record in enumerate(pair.records)
    )


def _describe_cut(items: Sequence[CutRecord]) -> str:
    missing_chars: Mapping[str, int] = {
        name: max(item.cut.get(name, 0) for item in items) for item in items for name in item.cut
    }
    parts = (f"{count(chars)} characters of the {name}" for name, chars in missing_chars.items())
    return ", ".join(parts)


def _make_outcome(run: int, item: CutRecord) -> Outcome:
    record = item.record
    answer = answer_view(record.output, record.detail) if record.output or record.detail else None
    text = "".join(piece.text for piece in answer.text) if answer else ""
    prediction = inert(record.prediction)
    return Outcome(
        run,
        _LABELS[record.status],
        "" if _strip_markers(prediction) == _strip_markers(text) else prediction,
        answer,
        inert(record.error),
        tuple((line(name, 60), f"{value:.3f}") for name, value in record.scores.items()),
        tuple(_list_facts(record)),
    )


def _strip_markers(text: str) -> str:
    """Remove citations' markers and white space, as a scorer does."""
    return re.sub(r"\[\d+(?:, ?\d+)*\]|\s", "", text)


def _list_facts(record: Record) -> list[str]:
    facts = []
    if record.latency_s > 0:
        facts.append(seconds(record.latency_s))
    if record.usage:
        prompt_tokens = record.usage.get("prompt_tokens", 0)
        completion_tokens = record.usage.get("completion_tokens", 0)
        facts.append(f"{count(prompt_tokens)} + {count(completion_tokens)} tokens")
    if record.finish == "length":
        facts.append("cut at its token limit")
    if record.fallback:
        facts.append("read by the second rule")
    return facts
