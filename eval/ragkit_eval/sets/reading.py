"""Read a labelled set of any known format, join several, and write their documents as files."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ragkit.errors import NotFoundError, UsageError
from ragkit.system.private_files import private
from ragkit_eval.sets.fields import json_lines
from ragkit_eval.sets.lines import ragkit_lines
from ragkit_eval.sets.published import beir, clapnq, excerpts, squad
from ragkit_eval.sets.values import LabelledSet

_FORMATS = (
    "a folder with corpus.jsonl (BEIR), a folder with questions_df.csv (excerpts), a .json file of"
    " SQuAD's shape, a .jsonl file of CLAPNQ's shape, or a .jsonl file of ragkit's own"
)
_UNSAFE = re.compile(r"[^\w.\-]")
_STEM_CHARS = 100  # arbitrary: file systems allow 255 bytes, a character of Chinese takes three


def read_set(path: Path) -> LabelledSet:
    """Read a labelled set, recognising its format; its name is that of the path.

    Raises NotFoundError, and UsageError naming file and line.
    """
    name = path.resolve().stem if path.is_file() else path.resolve().name
    if not path.exists():
        raise NotFoundError(f"there is no labelled set {str(path)!r}: check the path")
    if (path / "corpus.jsonl").exists():
        return beir(path, name)
    if (path / "questions_df.csv").exists():
        return excerpts(path, name)
    if path.suffix == ".json":
        return squad(path, name)
    if path.suffix == ".jsonl":
        _, first = next(json_lines(path), ("", {}))
        return (clapnq if {"passages", "output"} <= first.keys() else ragkit_lines)(path, name)
    raise UsageError(f"{path} is not a labelled set: use {_FORMATS}")


def joined(sets: Sequence[LabelledSet]) -> LabelledSet:
    """Join several sets into one. Raises UsageError for one name of two different documents."""
    if len(sets) == 1:
        return sets[0]
    documents: dict[str, str] = {}
    for labelled in sets:
        for name, text in labelled.documents.items():
            if documents.setdefault(name, text) != text:
                raise UsageError(
                    f"{labelled.name}: another set has another document {name!r}: give them"
                    " different names"
                )
    ids = [question.id for labelled in sets for question in labelled.questions]
    distinct = len(ids) == len(set(ids))
    questions = tuple(
        question if distinct else replace(question, id=f"{labelled.name}/{question.id}")
        for labelled in sets
        for question in labelled.questions
    )
    return LabelledSet("+".join(labelled.name for labelled in sets), documents, questions)


def corpus_of(labelled: LabelledSet, folder: Path) -> Mapping[str, Path]:
    """Write a set's documents as text files into an existing folder.

    Returns each document's file. Raises UsageError for a set without documents.
    """
    check_documents(labelled)
    files = {name: folder / f"{file_stem(name)}.txt" for name in labelled.documents}
    for name, file in files.items():
        with open(file, "wb", opener=private) as opened:
            opened.write(file_bytes(labelled.documents[name]))
    return files


def check_documents(labelled: LabelledSet) -> None:
    """Raise UsageError for a set without documents."""
    if not labelled.documents:
        raise UsageError(
            f"the set {labelled.name} has no documents of its own: ingest them, and name their"
            " collection"
        )


def file_bytes(text: str) -> bytes:
    """Encode a text as `corpus_of` writes it; half of a surrogate pair is replaced."""
    return text.encode("utf-8", "replace")


def file_stem(name: str) -> str:
    """Return the file name of a document without suffix: its own name where a file can have it.

    >>> file_stem("DEV_0"), file_stem("a/b")
    ('DEV_0', 'a_b-c14cddc0')
    """
    safe = _UNSAFE.sub("_", name)[:_STEM_CHARS]
    if safe == name and not name.startswith("."):
        return name
    return f"{safe.lstrip('.')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
