"""Cut a TeX source into words and marks, and pair its braces and environments, in one pass."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ragkit_ingest.parse.markup.texwords import CODE

# A command, a brace, the end of a paragraph, a comment, a run of text.
_TOKEN = re.compile(
    r"\\(?:[A-Za-z@]{1,100}\*?|.|\Z)|[{}\[\]$&~%]|\n(?:[^\S\n]*+\n)+|\n|[^\\{}\[\]$&~%\n]++",
    re.DOTALL,
)
_NAME = re.compile(r"\w{1,40}\*?")


@dataclass(slots=True)
class Tokens:
    """Tokens in order; `closing` maps the place of an opening brace to that of the closing one.

    `ends` maps the place of a `\\begin` to that of its `\\end`. What is never closed is in neither.
    """

    tokens: list[str]
    closing: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)

    def environment(self, place: int) -> str:
        """Name the environment that a `\\begin` or `\\end` at a place is of; "" for none."""
        if place + 2 < len(self.tokens) and self.tokens[place + 1] == "{":
            name = self.tokens[place + 2]
            return name if _NAME.fullmatch(name) else ""
        return ""

    def text(self, start: int, end: int) -> str:
        """Return the source between two places."""
        return "".join(self.tokens[start:end])


def tokens_of(source: str) -> Tokens:
    """Cut a source into tokens, comments left out, and pair what opens with what closes."""
    tokens = Tokens(_TOKEN.findall(source))
    _drop_comments(tokens)
    braces: list[int] = []
    open_names: dict[str, list[int]] = {}
    for place, word in enumerate(tokens.tokens):
        if word == "{":
            braces.append(place)
        elif word == "}" and braces:
            tokens.closing[braces.pop()] = place
        elif word == "\\begin":
            open_names.setdefault(tokens.environment(place), []).append(place)
        elif word == "\\end" and open_names.get(tokens.environment(place)):
            tokens.ends[open_names[tokens.environment(place)].pop()] = place
    return tokens


def _drop_comments(tokens: Tokens) -> None:
    """Leave out what stands from a percent sign to the end of its line, but not in code."""
    kept: list[str] = []
    in_comment = False
    verbatim = ""
    for place, word in enumerate(tokens.tokens):
        if word in {"\\begin", "\\end"} and not in_comment:
            name = tokens.environment(place)
            if word == "\\begin" and not verbatim and name in CODE:
                verbatim = name
            elif word == "\\end" and name == verbatim:
                verbatim = ""
        if in_comment:
            in_comment = not word.startswith("\n")
            if not in_comment and len(word) > 1:
                kept.append(word)  # the end of a paragraph
        elif word == "%" and not verbatim:
            in_comment = True
        else:
            kept.append(word)
    tokens.tokens = kept
