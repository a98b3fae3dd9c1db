"""Write the comments of reviewers in Office files as text."""

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
        details = (("author", self.author), ("time", self.time))
        named = ", ".join(f"{name}: {value}" for name, value in details if value)
        place = f" on {self.place}" if self.place else ""
        return f"Comment{place}{f' ({named})' if named else ''}: {self.text}"
