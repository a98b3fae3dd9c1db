"""Patterns in the syntax of .gitignore: match the paths below a folder.

They are matched by hand, in time that grows with the pattern times the path: a pattern may come
from outside, and regular expressions backtrack. It reads no files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

MAX_PATTERN_CHARS: Final = 4096  # arbitrary; as long as a path may be on Linux
_CLASSES: Final[dict[str, Callable[[str], bool]]] = {
    "alnum": lambda char: char.isascii() and char.isalnum(),
    "alpha": lambda char: char.isascii() and char.isalpha(),
    "blank": lambda char: char in " \t",
    "cntrl": lambda char: char < " " or char == "\x7f",
    "digit": lambda char: "0" <= char <= "9",
    "graph": lambda char: "!" <= char <= "~",
    "lower": lambda char: "a" <= char <= "z",
    "print": lambda char: " " <= char <= "~",
    "punct": lambda char: "!" <= char <= "~" and not char.isalnum(),
    "space": lambda char: char in " \t\n\r\f\v",
    "upper": lambda char: "A" <= char <= "Z",
    "xdigit": lambda char: char in "0123456789abcdefABCDEF",
}

Token = TypeVar("Token")


@dataclass(frozen=True, slots=True)
class _Char:
    """One character: this one, any, or one of a class in brackets."""

    literal: str = ""
    ranges: tuple[tuple[str, str], ...] = ()
    classes: tuple[str, ...] = ()
    negated: bool = False
    any: bool = False

    def fits(self, char: str) -> bool:
        if self.literal:
            return self.literal == char
        matches = any(low <= char <= high for low, high in self.ranges) or any(
            _CLASSES[name](char) for name in self.classes
        )
        return self.any or matches != self.negated


@dataclass(frozen=True, slots=True)
class _Name:
    """What one name of a path has to look like; None among the characters stands for a star."""

    chars: tuple[_Char | None, ...]
    literal: str = ""  # what comes after the leading star, if there is one, and is nothing else
    starts_with_star: bool = False

    def fits(self, name: str) -> bool:
        if self.literal:
            return name.endswith(self.literal) if self.starts_with_star else name == self.literal
        return _fits(self.chars, name, _Char.fits)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern, for paths relative to the folder that it was written for.

    `names` are what the names of a path look like, None any number of them. `floats` says that it
    is about a path's last name alone.
    """

    names: tuple[_Name | None, ...]
    floats: bool = False
    negated: bool = False
    only_folders: bool = False

    def matches(self, path: str, *, is_folder: bool) -> bool:
        """Say whether a path, with "/" between its names, is meant."""
        if self.only_folders and not is_folder:
            return False
        if self.floats:
            name = self.names[0]
            return name is not None and name.fits(path[path.rfind("/") + 1 :])
        return _fits(self.names, path.split("/"), _Name.fits)


def pattern(text: str) -> Pattern | None:
    r"""Read one pattern; None for what can match nothing.

    >>> pattern("*.log").matches("a/b.log", is_folder=False)
    True
    >>> pattern("/*.log").matches("a/b.log", is_folder=False)
    False
    """
    negated = text.startswith("!")
    text = text.removeprefix("!")
    only_folders = text.endswith("/")
    text = text.removesuffix("/")
    if not text or len(text) > MAX_PATTERN_CHARS:
        return None
    floats = "/" not in text
    names: list[_Name | None] = []
    for part in _parts(text.removeprefix("/")):
        if len(part) > 1 and not part.strip("*") and not floats:
            names.append(None)
        elif (name := _name(part)) is not None:
            names.append(name)
        else:
            return None
    if names[-1] is None:  # all that is inside, not the folder itself
        names.insert(-1, _name("*"))
    return Pattern(tuple(names), floats, negated, only_folders)


def patterns(text: str) -> tuple[Pattern, ...]:
    """Read the patterns of a file, one a line, with comments and empty lines between them."""
    rules: list[Pattern] = []
    for line in text.removeprefix("\ufeff").split("\n"):
        line = _trimmed(line.removesuffix("\r"))  # noqa: PLW2901 - it is the same line
        if line and not line.startswith("#") and (read := pattern(line)) is not None:
            rules.append(read)
    return tuple(rules)


def decide(rules: Sequence[Pattern], path: str, *, is_folder: bool) -> bool | None:
    """Tell whether the last pattern that matches a path picks it; None where none matches."""
    for rule in reversed(rules):
        if rule.matches(path, is_folder=is_folder):
            return not rule.negated
    return None


def _trimmed(line: str) -> str:
    """Drop the spaces at a line's end, but for one that a backslash protects."""
    bare = line.rstrip(" ")
    slashes = len(bare) - len(bare.rstrip("\\"))
    return line[: len(bare) + 1] if slashes % 2 else bare


def _parts(text: str) -> list[str]:
    """Take a pattern apart at its slashes, of which a backslash may stand before one."""
    parts, start, at = [], 0, 0
    while at < len(text):
        if text[at] == "\\" and text[at + 1 : at + 2] != "/":
            at += 2
            continue
        width = 2 if text[at] == "\\" else 1
        if text[at + width - 1] == "/":
            parts.append(text[start:at])
            start = at + width
        at += width
    return [*parts, text[start:]]


def _name(text: str) -> _Name | None:
    """Read what one name has to look like; None for a pattern that is not complete."""
    chars: list[_Char | None] = []
    at = 0
    while at < len(text):
        char = text[at]
        at += 1
        if char == "*":
            chars.append(None)
        elif char == "?":
            chars.append(_Char(any=True))
        elif char == "[":
            bracket = _bracket(text, at)
            if bracket is None:
                return None
            chars.append(bracket[0])
            at = bracket[1]
        elif char == "\\":
            if at == len(text):
                return None
            chars.append(_Char(text[at]))
            at += 1
        else:
            chars.append(_Char(char))
    starred = bool(chars) and chars[0] is None
    suffix = [char.literal if char is not None else "" for char in chars[starred:]]
    return _Name(tuple(chars), "".join(suffix) if suffix and all(suffix) else "", starred)


def _bracket(text: str, at: int) -> tuple[_Char, int] | None:
    """Read a class that begins before `at`; return it and where it ends. None: it does not."""
    negated = text[at : at + 1] in {"!", "^"}
    at += negated
    ranges: list[tuple[str, str]] = []
    classes: list[str] = []
    first = True
    while at < len(text) and (first or text[at] != "]"):
        first = False
        end = text.find("]", at + 2) if text.startswith("[:", at) else -1
        if end > at + 2 and text[end - 1] == ":":
            if text[at + 2 : end - 1] not in _CLASSES:
                return None
            classes.append(text[at + 2 : end - 1])
            at = end + 1
            continue
        low, at = _member(text, at)
        high = low
        if text[at : at + 1] == "-" and text[at + 1 : at + 2] not in {"", "]"}:
            high, at = _member(text, at + 1)
        ranges.append((low, high))
    if at >= len(text):
        return None
    return _Char(ranges=tuple(ranges), classes=tuple(classes), negated=negated), at + 1


def _member(text: str, at: int) -> tuple[str, int]:
    escaped = text[at] == "\\" and at + 1 < len(text)
    return text[at + escaped], at + escaped + 1


def _fits(
    tokens: Sequence[Token | None], parts: Sequence[str], fits: Callable[[Token, str], bool]
) -> bool:
    """Match things one by one; None stands for any number of them.

    Only the last None ever needs to take more: whatever came before it has its match already.
    """
    at = place = resume = 0
    last = -1
    while place < len(parts):
        token = tokens[at] if at < len(tokens) else None
        if at < len(tokens) and token is None:
            last, resume = at, place
            at += 1
        elif token is not None and fits(token, parts[place]):
            at += 1
            place += 1
        elif last >= 0:
            resume += 1
            at, place = last + 1, resume
        else:
            return False
    return all(token is None for token in tokens[at:])
