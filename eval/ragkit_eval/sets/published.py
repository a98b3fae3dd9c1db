"""Read labelled sets in published formats: BEIR, SQuAD, CLAPNQ, chunking_evaluation."""

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
    """Read corpus.jsonl, queries.jsonl, and qrels.tsv or qrels/test.tsv, the layout of BEIR.

    A document's text is its text field, preceded by its title unless the text begins with it.
    Judgements of grade 0 are included; documents without text are left out.
    """
    documents = {}
    for where, line in json_lines(folder / "corpus.jsonl"):
        title, text = optional(line, "title", "", where), field(line, "text", str, where)
        full_text = text if text.startswith(title) else f"{title}\n\n{text}"
        document = _read_id(line, "_id", where)
        if document in documents:
            raise UsageError(f"{where}: the document {document!r} is there twice: leave one out")
        if full_text.strip():
            documents[document] = full_text
    qrels = _read_qrels(folder)
    questions = []
    for where, line in json_lines(folder / "queries.jsonl"):
        number = _read_id(line, "_id", where)
        text = field(line, "text", str, where)
        questions.append(Question(number, text, relevant=qrels.get(number, {}), where=where))
    unknown = qrels.keys() - {question.id for question in questions}
    if unknown:
        raise UsageError(
            f"{folder}: the judgements name {len(unknown)} queries that queries.jsonl has not, such"
            f" as {min(unknown)!r}: correct them"
        )
    return _make_set(name, documents, questions, folder)


def squad(path: Path, name: str) -> LabelledSet:
    """Read a file in SQuAD's format (also CMRC 2018, DRCD); each paragraph is a document."""
    documents: dict[str, str] = {}
    questions: list[Question] = []
    for number, (where, paragraph) in enumerate(_read_paragraphs(path)):
        document = str(paragraph.get("id", number))
        documents[document] = field(paragraph, "context", str, where)
        for place, entry in _list_objects(paragraph, "qas", where):
            context = paragraph["context"]
            answers = tuple(
                dict.fromkeys(
                    _read_answer(answer, context, w)
                    for w, answer in _list_objects(entry, "answers", place)
                )
            )
            questions.append(
                Question(
                    _read_id(entry, "id", place),
                    field(entry, "question", str, place),
                    relevant={document: 1},
                    answers=answers,
                    answerable=bool(answers) and not optional(entry, "is_impossible", False, place),
                    where=place,
                )
            )
    return _make_set(name, documents, questions, path)


def clapnq(path: Path, name: str) -> LabelledSet:
    """Read CLAPNQ's JSON lines: one passage per question, whose answering sentences are marked.

    `answers` are the marked sentences of the passage, `references` the answers that people wrote
    from them; unanswerable questions have none. Questions on the same passage are a group.
    """
    documents: dict[str, str] = {}
    groups: dict[str, str] = {}
    questions: list[Question] = []
    for where, line in json_lines(path):
        number = _read_id(line, "id", where)
        passages = _list_objects(line, "passages", where)
        if len(passages) != 1:
            raise UsageError(f"{where}: {len(passages)} passages: CLAPNQ has one a question")
        ((place, passage),) = passages
        title, text = (field(passage, part, str, place) for part in ("title", "text"))
        documents[number] = f"{title}\n\n{text}"
        outputs = _list_objects(line, "output", where)
        marked = [
            text.strip() for w, out in outputs for text in texts(out, "selected_sentences", w)
        ]
        written = [optional(out, "answer", "", w).strip() for w, out in outputs]
        answers = tuple(dict.fromkeys(text for text in marked if text))
        references = tuple(dict.fromkeys(text for text in written if text))
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
    return _make_set(name, documents, questions, path)


def excerpts(folder: Path, name: str) -> LabelledSet:
    """Read questions_df.csv and corpora/*.md, the layout of the chunking_evaluation package."""
    # Every line end becomes one character, as in the text that ragkit stores.
    documents = {path.stem: clean(read_text(path)) for path in sorted(folder.glob("corpora/*.md"))}
    path = folder / "questions_df.csv"
    questions = []
    for number, (where, row) in enumerate(
        _read_rows(path, ("question", "references", "corpus_id"))
    ):
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
    return _make_set(name, documents, questions, folder)


def _read_qrels(folder: Path) -> dict[str, dict[str, int]]:
    choices = [folder / "qrels.tsv", folder / "qrels" / "test.tsv"]
    path = next((choice for choice in choices if choice.is_file()), None)
    if path is None:
        raise NotFoundError(f"{folder} has no judgements: put them into qrels.tsv")
    qrels: dict[str, dict[str, int]] = {}
    for where, row in _read_rows(path, ("query-id", "corpus-id", "score"), delimiter="\t"):
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


def _read_rows(
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


def _read_paragraphs(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = an_object(parsed(read_text(path), str(path)), str(path))
    for where, article in _list_objects(content, "data", f"{path}:"):
        yield from _list_objects(article, "paragraphs", where)


def _list_objects(
    values: dict[str, Any], name: str, where: str
) -> list[tuple[str, dict[str, Any]]]:
    """Return the objects of a list with their places, since one JSON file has no lines to name."""
    members = []
    for number, value in enumerate(field(values, name, list, where.rstrip(":"))):
        place = f"{where} {name}[{number}]"
        members.append((place, an_object(value, place)))
    return members


def _read_answer(values: dict[str, Any], context: str, where: str) -> str:
    """Return an answer's text. CMRC 2018 has answers that are not in their paragraph."""
    text, start = field(values, "text", str, where), optional(values, "answer_start", 0, where)
    if start > len(context):
        raise UsageError(
            f"{where}: the answer begins at {start}, outside of its paragraph of {len(context)}"
            " characters: correct it"
        )
    return text


def _read_id(values: dict[str, Any], name: str, where: str) -> str:
    if name not in values:
        raise UsageError(f"{where}: there is no {name!r}")
    value = values[name]
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        raise UsageError(f"{where}: {name!r} must be a text or a whole number, not {value!r:.60}")
    return str(value)


def _make_set(
    name: str, documents: dict[str, str], questions: list[Question], path: Path
) -> LabelledSet:
    check_questions(questions, str(path))
    return LabelledSet(name, documents, tuple(questions))
