"""Reviewers' comments in Office files, as the text has them when they are kept.

It knows nothing of the formats, only how a comment is written.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Remark:
    """A comment: what it says, whose it is, when, and on which cell where there are cells."""

    text: str
    author: str = ""
    time: str = ""
    place: str = ""

    def line(self) -> str:
        """Write it as a paragraph.

        >>> Remark("check", "Ann", place="B2").line()
        'Comment on B2 (author: Ann): check'
        """
        known = (("author", self.author), ("time", self.time))
        named = ", ".join(f"{name}: {value}" for name, value in known if value)
        place = f" on {self.place}" if self.place else ""
        return f"Comment{place}{f' ({named})' if named else ''}: {self.text}"
