"""Read texts: lines of .txt and .md files, strings of .jsonl rows, lines of a collection."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from ragkit.errors import NotFoundError, UsageError
from ragkit.upkeep.questions import read_lines, read_row

_SUFFIXES: Final = (".txt", ".md", ".jsonl")
_KEYS: Final = ("text", "query", "question", "positive", "prompt", "chosen", "completion")
_MOST_BYTES: Final = 1 << 30  # of all files: arbitrary, some times what a vocabulary profits from


def gather_texts(paths: Sequence[Path], collection: str | None) -> list[str]:
    """Read the texts of files and folders and of a collection's documents.

    Raises UsageError where neither is named, and what reading either raises.
    """
    if not paths and not collection:
        raise UsageError("no texts: name --texts FILE or --collection NAME")
    texts = read_texts(paths) if paths else []
    if collection:
        texts += read_collection(collection)
    return list(dict.fromkeys(texts))


def read_collection(collection: str) -> list[str]:
    """Read the lines of a collection's documents. Raises UsageError, DatabaseError."""
    from ragkit.knowledge.base import KnowledgeBase

    with KnowledgeBase.open(collection=collection) as kb:
        documents = kb.store.documents(kb.collection)
        texts = [kb.store.text(document.id) for document in documents]
    lines = [line.strip() for text in texts for line in text.split("\n")]
    if not any(lines):
        raise UsageError(
            f"collection {collection!r} has no documents: take some in with"
            f" `ragkit ingest FOLDER --collection {collection}`"
        )
    return list(dict.fromkeys(filter(None, lines)))


def read_texts(paths: Sequence[Path]) -> list[str]:
    """Read the texts of files, and of all such files below a folder, in order, without copies.

    A row of JSON lines has its text in "text", or as `ragkit tune data` writes it. Raises
    NotFoundError, UsageError.
    """
    files = [file for path in paths for file in _files(path)]
    size = sum(file.stat().st_size for file in files)
    if size > _MOST_BYTES:
        raise UsageError(
            f"--texts are {size / 1e9:.1f} GB where at most {_MOST_BYTES / 1e9:.1f} GB are read:"
            " name a part of them"
        )
    texts = list(dict.fromkeys(text for file in files for text in _texts(file)))
    if not texts:
        raise UsageError(f"--texts {', '.join(map(str, paths))}: no text in them: name others")
    return texts


def _files(path: Path) -> list[Path]:
    path = path.expanduser()
    if path.is_dir():
        return sorted(
            file for file in path.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file()
        )
    if not path.is_file():
        raise NotFoundError(f"--texts {path} does not exist: name a file or folder that does")
    if path.suffix.lower() not in _SUFFIXES:
        raise UsageError(f"--texts {path}: write it as one of {', '.join(_SUFFIXES)}")
    return [path]


def _texts(file: Path) -> Iterator[str]:
    lines = read_lines(file)
    if file.suffix.lower() != ".jsonl":
        yield from (line for _, line in lines)
        return
    for where, line in lines:
        row = read_row(where, line)
        strings = _strings(row) if isinstance(row, dict) else []
        if not strings:
            raise UsageError(f'{where}: no text: write it as {{"text": "..."}}')
        yield from strings


def _strings(row: dict[str, Any]) -> list[str]:
    strings = [row[key] for key in _KEYS if isinstance(row.get(key), str)]
    messages = row.get("messages")
    if isinstance(messages, list):
        strings += [
            message["content"]
            for message in messages
            if isinstance(message, dict) and isinstance(message.get("content"), str)
        ]
    return [text for text in strings if text.strip()]
