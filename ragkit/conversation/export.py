"""Export a conversation as JSON or Markdown, with its answers' sources.

In the Markdown no text of a document or a model becomes a link, an image or a tag.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ragkit import json_values
from ragkit.answer.labels import labels
from ragkit.api_values import KeptConversation
from ragkit.errors import UsageError
from ragkit.json_values import copy_as
from ragkit.store.people.conversations import StoredConversation, StoredTurn
from ragkit.text.places import heading_path
from ragkit.text.printable import printable
from ragkit.types import Citation

_ACTIVE = re.compile(r"[\\\[\]<>]")


def listed(stored: StoredConversation) -> dict[str, Any]:
    """Return a conversation's JSON in a list."""
    fields: dict[str, Any] = json_values.to_json(copy_as(KeptConversation, stored))
    return fields


def to_json(stored: StoredConversation, turns: Sequence[StoredTurn]) -> dict[str, Any]:
    """Return a conversation's JSON with all its turns, oldest first."""
    return listed(stored) | {
        "summary": stored.summary,
        "summarised": stored.summarised,
        "turns": [_turn_json(turn) for turn in turns],
    }


def to_markdown(stored: StoredConversation, turns: Sequence[StoredTurn]) -> str:
    """Write a conversation as Markdown: question, answer and quoted sources of every turn."""
    began = stored.created_at.isoformat(sep=" ", timespec="minutes")
    parts = [f"# {_inert(stored.title)}", f"Collection {_inert(stored.collection)}, begun {began}"]
    for number, turn in enumerate(turns, 1):  # ordinals have gaps where a turn was replaced
        words = labels(turn.question)
        parts.append(f"## {number}. {_inert(' '.join(turn.question.split()))}")
        if turn.query != turn.question:
            query = " ".join(turn.query.split())
            parts.append(_inert(words["searched for"].format(query=query)))
        parts.append(_inert(turn.answer))
        if turn.refused and turn.reason:
            parts.append(_inert(words["reason"].format(reason=turn.reason)))
        parts += [_source(citation, words) for citation in turn.citations]
    return "\n\n".join(parts) + "\n"


def write(path: Path, stored: StoredConversation, turns: Sequence[StoredTurn]) -> None:
    """Write a conversation to a new file that only its owner may read, as JSON if it is *.json.

    Raises UsageError for a file that exists or cannot be written.
    """
    if path.suffix.casefold() == ".json":
        text = json.dumps(to_json(stored, turns), ensure_ascii=False, indent=2) + "\n"
    else:
        text = to_markdown(stored, turns)
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(text.encode())
    except FileExistsError as error:
        raise UsageError(f"{path} is there already: choose another name") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no file's name"
        raise UsageError(f"{path} cannot be written: {reason}: choose another") from error


def _turn_json(turn: StoredTurn) -> dict[str, Any]:
    claims = [
        json_values.to_json(claim) | {"text": turn.answer[claim.start : claim.end]}
        for claim in turn.claims
    ]
    timings = json_values.to_json(turn.timings, digits=4)
    fields: dict[str, Any] = json_values.to_json(turn) | {"claims": claims, "timings": timings}
    return fields


def _source(citation: Citation, words: Mapping[str, str]) -> str:
    quote = _inert(" ".join(citation.quote.split()))
    parts = [citation.uri]
    if path := heading_path(citation.title, citation.headings):
        parts.append(path)
    if citation.page is not None:
        parts.append(words["page"].format(page=citation.page))
    parts.append(words[citation.verdict])
    return f"> \\[{citation.n}\\] {quote}\n>\n> {_inert(words['next'].join(parts))}"


def _inert(text: str) -> str:
    return _ACTIVE.sub(lambda match: "\\" + match.group(), printable(text))
