"""A text handed over by a program: one document, identified by its title."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ragkit.errors import UsageError
from ragkit_ingest.sources.item import Item
from ragkit_ingest.sources.items_of_file import File, Taking
from ragkit_ingest.sources.sizes import bounded

SCHEME: Final = "text:"


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text as a document of the URI `text:TITLE`; the same title is its next version.

    Raises UsageError without a title, and for a text that is not Unicode.
    """

    text: str
    title: str
    root: str = field(default="", init=False)  # no place is listed for it

    def __post_init__(self) -> None:
        if not self.title.strip() or not self.title.isprintable():
            raise UsageError(
                f"A text needs a title of one line, which names the document, not {self.title!r}:"
                ' write title="Leave policy".'
            )
        try:
            f"{self.title}{self.text}".encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                f"The text {self.title!a} holds half of a surrogate pair: decode it again."
            ) from error

    def items(self, taking: Taking) -> Iterator[Item]:
        """Yield the document."""
        data = self.text.encode()
        file = File(
            SCHEME + self.title,
            f"{self.title}.txt",
            lambda max_bytes: bounded(data, max_bytes),
            lambda: io.BytesIO(data),
        )
        yield from taking.items(file, title=self.title)

    def covers(self, uri: str) -> bool:
        """Tell that a text that is not handed over again has not vanished."""
        return False
