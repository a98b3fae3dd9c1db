"""The words of a model server or its client, in one short line without the key, for messages."""

from __future__ import annotations

from typing import Final

MAX_QUOTED_CHARS: Final = 200  # arbitrary: a sentence or two


def quoted(words: str, api_key: str | None = None, max_chars: int = MAX_QUOTED_CHARS) -> str:
    """Write words in one line of at most `max_chars` characters, with stars for the key.

    >>> quoted("bad key\\n s3cret", "s3cret")
    'bad key ***'
    """
    if api_key:
        words = words.replace(api_key, "***")  # before the cut, which could leave half of it
    line = " ".join("".join(c if c.isprintable() else " " for c in words).split())
    return line if len(line) <= max_chars else line[:max_chars] + "..."
