"""Labelled sets in the formats they are published in: BEIR folders, SQuAD JSON, CLAPNQ JSON lines,
and questions with excerpts as character offsets. Reads files; knows nothing of any system.
"""

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A place that answers: `start:end` are code points of the document's text."""

    document: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question with what is known of its answer; what a set does not label is empty.

    `relevant` grades documents, `answers` are accepted answer strings, `excerpts` are places.
    """

    id: str
    text: str
    relevant: Mapping[str, int] = field(default_factory=dict)
    answers: tuple[str, ...] = ()
    excerpts: tuple[Excerpt, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledSet:
    """Documents by id, and questions about them."""

    name: str
    documents: Mapping[str, str]
    questions: tuple[Question, ...]


def beir(folder: Path, name: str) -> LabelledSet:
    """Read corpus.jsonl, queries.jsonl and qrels.tsv, as BEIR lays them out.

    A document's text is its text field, preceded by the title where the text does not begin with
    it. Judgements of grade 0 are kept; documents without text are left out.
    """
    documents = {}
    for line in _lines(folder / "corpus.jsonl"):
        title, text = line.get("title", ""), line["text"]
        whole = text if text.startswith(title) else f"{title}\n\n{text}"
        if whole.strip():
            documents[line["_id"]] = whole
    qrels: dict[str, dict[str, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    questions = tuple(
        Question(line["_id"], line["text"], relevant=qrels.get(line["_id"], {}))
        for line in _lines(folder / "queries.jsonl")
    )
    return LabelledSet(name, documents, questions)


def squad(path: Path, name: str) -> LabelledSet:
    """Read a file of SQuAD's shape (CMRC 2018, DRCD too); each paragraph is a document."""
    documents: dict[str, str] = {}
    questions: list[Question] = []
    paragraphs = [
        paragraph
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
    ]
    for number, paragraph in enumerate(paragraphs):
        document = str(paragraph.get("id", number))
        documents[document] = paragraph["context"]
        questions += [
            Question(
                str(qa["id"]),
                qa["question"],
                relevant={document: 1},
                answers=tuple(dict.fromkeys(answer["text"] for answer in qa["answers"])),
            )
            for qa in paragraph["qas"]
        ]
    return LabelledSet(name, documents, tuple(questions))


def clapnq(path: Path, name: str) -> LabelledSet:
    """Read CLAPNQ's JSON lines: a passage per question; the answerable ones have marked sentences.

    `answers` are the marked sentences as they stand in the passage; none for the unanswerable.
    """
    documents: dict[str, str] = {}
    questions: list[Question] = []
    for line in _lines(path):
        (passage,) = line["passages"]
        documents[line["id"]] = f"{passage['title']}\n\n{passage['text']}"
        marked = [
            sentence
            for output in line["output"]
            for sentence in output.get("selected_sentences", ())
        ]
        questions.append(
            Question(
                line["id"],
                line["input"],
                relevant={line["id"]: 1},
                answers=tuple(dict.fromkeys(sentence.strip() for sentence in marked if sentence)),
            )
        )
    return LabelledSet(name, documents, tuple(questions))


def excerpts(folder: Path, name: str) -> LabelledSet:
    """Read questions_df.csv and corpora/*.md, as the chunking_evaluation package lays them out."""
    documents = {
        path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("corpora/*.md"))
    }
    questions = []
    with (folder / "questions_df.csv").open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            document = row["corpus_id"]
            places = tuple(
                Excerpt(document, reference["start_index"], reference["end_index"])
                for reference in json.loads(row["references"])
            )
            questions.append(
                Question(str(number), row["question"], relevant={document: 1}, excerpts=places)
            )
    return LabelledSet(name, documents, tuple(questions))


def _lines(path: Path) -> Iterable[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.strip():
                yield json.loads(line)
