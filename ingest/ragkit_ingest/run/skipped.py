"""Files that an ingestion skips: named up to a limit, and counted by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from ragkit.documents.formats import REMEDIES

MAX_NAMED: Final = 1000  # arbitrary: more are only counted

HIDDEN: Final = "hidden (--hidden takes them)"
FOLDER_LINK: Final = "a link to a folder"
SPECIAL_FILE: Final = "a pipe, socket or device"
IGNORED: Final = "left out by .ragkitignore"
EXCLUDED: Final = "left out by --include or --exclude"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file or folder that an ingestion did not take, and why."""

    uri: str
    reason: str


class SkippedFiles:
    """Collects skipped files; one thread at a time may add to it."""

    def __init__(self, files: Iterable[Skipped] = ()) -> None:
        self.named: list[Skipped] = []
        self.reasons: Counter[str] = Counter()
        for file in files:
            self.add(file.uri, file.reason)

    def add(self, uri: str, reason: str) -> None:
        """Count a file, and name it unless a thousand are named already."""
        self.reasons[reason] += 1
        if len(self.named) < MAX_NAMED:
            self.named.append(Skipped(uri, reason))

    def __add__(self, other: SkippedFiles) -> SkippedFiles:
        total = SkippedFiles()
        total.named = [*self.named, *other.named][:MAX_NAMED]
        total.reasons = self.reasons + other.reasons
        return total


def unread_format(suffix: str) -> str:
    """Say that ragkit does not read files of a suffix, and what to do where that is known.

    >>> unread_format(".exe"), unread_format("")
    ('a format that ragkit does not read (.exe)', 'a file without an ending, and not of text')
    >>> unread_format(".rar")
    'a format that ragkit does not read (.rar): pack what is in it anew as .zip'
    """
    if not suffix:
        return "a file without an ending, and not of text"
    remedy = f": {REMEDIES[suffix]}" if suffix in REMEDIES else ""
    return f"a format that ragkit does not read ({suffix}){remedy}"
