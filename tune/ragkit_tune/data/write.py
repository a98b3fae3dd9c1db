"""Write a data folder: rows as pairs, the test as a labelled set, the card in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ragkit_tune.data.card import describe_card
from ragkit_tune.data.checks import Row
from ragkit_tune.data.clusters import Clusters
from ragkit_tune.data.data_set import (
    DataSet,
    PairRow,
    Split,
    make_new_folder,
    write_data_set,
    write_rows,
    write_whole,
)
from ragkit_tune.data.labelled import label_line
from ragkit_tune.data.quality import Odd
from ragkit_tune.data.questions import digest

ASK: Final = "ask.jsonl"


def write_data(
    out: Path,
    rows: Sequence[Row],
    clusters: Clusters,
    card: Mapping[str, Any],
    odd: Sequence[Odd],
    lines: Sequence[Mapping[str, Any]],
) -> DataSet:
    """Write the rows and their card, the odd rows for review, and the passages to ask about."""
    files: dict[Split, Iterable[Mapping[str, Any]]] = {
        "train": [_pair(row, clusters) for row in rows if row.split == "train"],
        "dev": [_pair(row, clusters) for row in rows if row.split == "dev"],
        "test": _test_lines([row for row in rows if row.split == "test"], clusters),
    }
    data = write_data_set(out, "pairs", files, {**card, "review": len(odd)})
    if odd:
        write_rows(out / "review.jsonl", map(_review_line, odd))
    if lines:
        write_rows(out / ASK, lines)
    write_whole(out / "card.md", "\n".join(describe_card(data.card)) + "\n")
    return data


def write_passages(out: Path, lines: Sequence[Mapping[str, Any]]) -> Path:
    """Write the passages to ask about without any rows, and return their file."""
    make_new_folder(out)
    write_rows(out / ASK, lines)
    return out / ASK


def _pair(row: Row, clusters: Clusters) -> dict[str, Any]:
    question, passage = row.question, row.place.passage
    return PairRow(
        digest(question.text, passage.text, passage.start)[:12],
        question.text,
        passage.text,
        passage.uri,
        passage.start,
        passage.end,
        row.rivals.negatives,
        question.how,
        question.language,
        question.group or clusters.of[passage.uri],
    ).as_json()


def _test_lines(rows: Sequence[Row], clusters: Clusters) -> list[dict[str, Any]]:
    """Write the questions of the test as a labelled set of `ragkit eval`."""
    questions = {row.question.id: row.question for row in rows}
    return [
        label_line(question, question.group or clusters.of[question.places[0].passage.uri])
        for question in questions.values()
    ]


def _review_line(odd: Odd) -> dict[str, Any]:
    question, passage = odd.row.question, odd.row.place.passage
    return {
        "id": digest(question.text, passage.text, passage.start)[:12],
        "split": odd.row.split,
        "how": question.how,
        "z": odd.z,
        "loss": odd.loss,
        "query": question.text,
        "positive": passage.text,
        "document": passage.uri,
        "start": passage.start,
        "end": passage.end,
    }
