"""Labelled sets in the formats they are published in: BEIR folders, SQuAD JSON, CLAPNQ JSON lines,
and questions with excerpts as character offsets. Reads files; knows nothing of any system.
"""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragkit.errors import NotFoundError, UsageError
from ragkit.text.normalise import clean
from ragkit_eval.sets.fields import (
    an_object,
    field,
    json_lines,
    optional,
    parsed,
    read_text,
    texts,
    typed,
)
from ragkit_eval.sets.lines import check_place, check_questions
from ragkit_eval.sets.values import Excerpt, LabelledSet, Question


def beir(folder: Path, name: str) -> LabelledSet:
    """Read corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv, as BEIR lays them out.

    A document's text is its text field, preceded by the title where the text does not begin with
    it. Judgements of grade 0 are kept; documents without text are left out.
    """
    documents = {}
    for where, line in json_lines(folder / "corpus.jsonl"):
        title, text = optional(line, "title", "", where), field(line, "text", str, where)
        whole = text if text.startswith(title) else f"{title}\n\n{text}"
        document = _id(line, "_id", where)
        if document in documents:
            raise UsageError(f"{where}: the document {document!r} is there twice: leave one out")
        if whole.strip():
            documents[document] = whole
    qrels = _qrels(folder)
    questions = []
    for where, line in json_lines(folder / "queries.jsonl"):
        number = _id(line, "_id", where)
        text = field(line, "text", str, where)
        questions.append(Question(number, text, relevant=qrels.get(number, {}), where=where))
    unknown = qrels.keys() - {question.id for question in questions}
    if unknown:
        raise UsageError(
            f"{folder}: the judgements name {len(unknown)} queries that queries.jsonl has not, such"
            f" as {min(unknown)!r}: correct them"
        )
    return _checked(name, documents, questions, folder)


def squad(path: Path, name: str) -> LabelledSet:
    """Read a file of SQuAD's shape (CMRC 2018, DRCD too); each paragraph is a document."""
    documents: dict[str, str] = {}
    questions: list[Question] = []
    for number, (where, paragraph) in enumerate(_paragraphs(path)):
        document = str(paragraph.get("id", number))
        documents[document] = field(paragraph, "context", str, where)
        for at, qa in _listed(paragraph, "qas", where):
            context = paragraph["context"]
            answers = tuple(
                dict.fromkeys(_answer(one, context, w) for w, one in _listed(qa, "answers", at))
            )
            questions.append(
                Question(
                    _id(qa, "id", at),
                    field(qa, "question", str, at),
                    relevant={document: 1},
                    answers=answers,
                    answerable=bool(answers) and not optional(qa, "is_impossible", False, at),
                    where=at,
                )
            )
    return _checked(name, documents, questions, path)


def clapnq(path: Path, name: str) -> LabelledSet:
    """Read CLAPNQ's JSON lines: a passage per question; the answerable ones have marked sentences.

    `answers` are the marked sentences as they stand in the passage, `references` the answers that
    people wrote from them; none for the unanswerable. Questions on the same passage are a group.
    """
    documents: dict[str, str] = {}
    groups: dict[str, str] = {}
    questions: list[Question] = []
    for where, line in json_lines(path):
        number = _id(line, "id", where)
        passages = _listed(line, "passages", where)
        if len(passages) != 1:
            raise UsageError(f"{where}: {len(passages)} passages: CLAPNQ has one a question")
        ((at, passage),) = passages
        title, text = (field(passage, part, str, at) for part in ("title", "text"))
        documents[number] = f"{title}\n\n{text}"
        outputs = _listed(line, "output", where)
        marked = [one.strip() for w, out in outputs for one in texts(out, "selected_sentences", w)]
        written = [optional(out, "answer", "", w).strip() for w, out in outputs]
        answers = tuple(dict.fromkeys(one for one in marked if one))
        references = tuple(dict.fromkeys(one for one in written if one))
        questions.append(
            Question(
                number,
                field(line, "input", str, where),
                relevant={number: 1},
                answers=answers,
                references=references,
                answerable=bool(answers or references),
                group=groups.setdefault(text, number),
                where=where,
            )
        )
    return _checked(name, documents, questions, path)


def excerpts(folder: Path, name: str) -> LabelledSet:
    """Read questions_df.csv and corpora/*.md, as the chunking_evaluation package lays them out."""
    # Every kind of line end is one character here, as in what ragkit stores.
    documents = {path.stem: clean(read_text(path)) for path in sorted(folder.glob("corpora/*.md"))}
    path = folder / "questions_df.csv"
    questions = []
    for number, (where, row) in enumerate(_rows(path, ("question", "references", "corpus_id"))):
        document = row["corpus_id"]
        if document not in documents:
            raise UsageError(f"{where}: there is no {folder / 'corpora' / document}.md")
        places = []
        for value in typed(parsed(row["references"], where), list, "'references'", where):
            reference = an_object(value, where)
            start, end = (field(reference, n, int, where) for n in ("start_index", "end_index"))
            place = Excerpt(document, start, end, field(reference, "content", str, where))
            check_place(place, documents[document], where)
            places.append(place)
        questions.append(
            Question(
                str(number),
                row["question"],
                relevant={document: 1},
                excerpts=tuple(places),
                answerable=bool(places),
                where=where,
            )
        )
    return _checked(name, documents, questions, folder)


def _qrels(folder: Path) -> dict[str, dict[str, int]]:
    choices = [folder / "qrels.tsv", folder / "qrels" / "test.tsv"]
    path = next((choice for choice in choices if choice.is_file()), None)
    if path is None:
        raise NotFoundError(f"{folder} has no judgements: put them into qrels.tsv")
    qrels: dict[str, dict[str, int]] = {}
    for where, row in _rows(path, ("query-id", "corpus-id", "score"), delimiter="\t"):
        try:
            grade = int(row["score"])
        except ValueError as error:
            raise UsageError(f"{where}: the score {row['score']!r} is no whole number") from error
        judged = qrels.setdefault(row["query-id"], {})
        if row["corpus-id"] in judged:
            raise UsageError(
                f"{where}: {row['corpus-id']!r} is judged twice for the query"
                f" {row['query-id']!r}: leave one line out"
            )
        judged[row["corpus-id"]] = grade
    return qrels


def _rows(
    path: Path, columns: tuple[str, ...], *, delimiter: str = ","
) -> Iterator[tuple[str, dict[str, str]]]:
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), delimiter=delimiter)
    missing = [column for column in columns if column not in (reader.fieldnames or ())]
    if missing:
        raise UsageError(f"{path}:1: there is no column {missing[0]!r}: name the columns there")
    try:
        for row in reader:
            where = f"{path}:{reader.line_num}"
            short = [column for column in columns if row[column] is None]
            if short:
                raise UsageError(f"{where}: the column {short[0]!r} is missing in this row")
            yield where, row
    except csv.Error as error:
        raise UsageError(f"{path}:{reader.line_num}: not CSV: {error}") from error


def _paragraphs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    whole = an_object(parsed(read_text(path), str(path)), str(path))
    for where, article in _listed(whole, "data", f"{path}:"):
        yield from _listed(article, "paragraphs", where)


def _listed(values: dict[str, Any], name: str, where: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a list with their places: one JSON file has no lines to name."""
    found = []
    for number, value in enumerate(field(values, name, list, where.rstrip(":"))):
        at = f"{where} {name}[{number}]"
        found.append((at, an_object(value, at)))
    return found


def _answer(values: dict[str, Any], context: str, where: str) -> str:
    """Return an answer's text. CMRC 2018 has some that stand nowhere in their paragraph."""
    text, start = field(values, "text", str, where), optional(values, "answer_start", 0, where)
    if start > len(context):
        raise UsageError(
            f"{where}: the answer begins at {start}, outside of its paragraph of {len(context)}"
            " characters: correct it"
        )
    return text


def _id(values: dict[str, Any], name: str, where: str) -> str:
    if name not in values:
        raise UsageError(f"{where}: there is no {name!r}")
    value = values[name]
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise UsageError(f"{where}: {name!r} must be a text or a whole number, not {value!r:.60}")
    return str(value)


def _checked(
    name: str, documents: dict[str, str], questions: list[Question], path: Path
) -> LabelledSet:
    check_questions(questions, str(path))
    return LabelledSet(name, documents, tuple(questions))
