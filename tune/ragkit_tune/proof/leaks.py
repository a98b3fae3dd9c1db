"""Refuse questions whose answers a model was trained on.

A score on such questions says how well the model remembers, not how well it will search.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ragkit.errors import UsageError
from ragkit.text.near_duplicates import signature
from ragkit.types import Document
from ragkit_tune.data.clusters import NearTexts
from ragkit_tune.data.data_set import DataSet, read_objects, read_pairs
from ragkit_tune.data.labelled import Label, read_labels
from ragkit_tune.data.questions import folded
from ragkit_tune.data.sources import Sources


@dataclass(frozen=True, slots=True)
class _Row:
    """What a row was trained on, and where it stands; "" for what it does not have."""

    where: str
    document: str
    query: str = ""
    passage: str = ""


class _Texts:
    """Texts that were trained on, each with its row."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        self._near = NearTexts()
        self._rows = []
        for text, where in texts:
            self._near.add(signature(text))
            self._rows.append(where)

    def nearest(self, text: str) -> str:
        """Return the row whose text is nearly this one; "" for none."""
        near = self._near.near(signature(text))
        return self._rows[near[0]] if near else ""


def check_untouched(questions: Path, sets: Sequence[DataSet], sources: Sources) -> None:
    """Raise UsageError naming the first question that a model was trained on.

    That is one whose query stands in train.jsonl or dev.jsonl, or whose document or passage does,
    or nearly does.
    """
    labels = read_labels(questions)
    for data in sets:
        _check(labels, list(_rows(data)), sources)


def _rows(data: DataSet) -> Iterator[_Row]:
    for path in (data.path("train"), data.path("dev")):
        if data.rows_kind == "pairs":
            for row in read_pairs(path):
                where = f"row {row.id} of {path}"
                yield _Row(where, row.document, row.query, row.positive)
        else:
            for where, values in read_objects(path):
                for source in values.get("sources") or ():
                    yield _Row(f"the row at {where}", str(source["document"]))


def _check(labels: Sequence[Label], rows: Sequence[_Row], sources: Sources) -> None:
    documents = {row.document: row.where for row in rows}
    queries = {folded(row.query): row.where for row in rows if row.query}
    passages = _Texts((row.passage, row.where) for row in rows if row.passage)
    texts = _Texts(
        (sources.read(document).text, where)
        for uri, where in documents.items()
        for document in sources.named(uri)
    )
    for label in labels:
        _refuse(label, "its question", queries.get(folded(label.question), ""))
        for document in _documents(label, sources):
            text = sources.read(document).text
            _refuse(label, f"its document {document.uri}", documents.get(document.uri, ""))
            _refuse(label, f"nearly its document {document.uri}", texts.nearest(text))
        for name, start, end, _ in label.spans:
            for document in sources.named(name):
                passage = sources.read(document).text[start:end]
                _refuse(label, f"nearly its passage {passage[:40]!r}", passages.nearest(passage))


def _documents(label: Label, sources: Sources) -> Iterable[Document]:
    names = [name for name, *_ in label.spans]
    names += [name for name, grade in label.grades.items() if grade > 0]
    documents = {document.uri: document for name in names for document in sources.named(name)}
    return documents.values()


def _refuse(label: Label, subject: str, where: str) -> None:
    if where:
        raise UsageError(
            f"{label.where}: {subject} was trained on ({where}): take this question out, or name"
            " questions about other documents with --set"
        )
