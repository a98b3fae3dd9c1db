"""Help in the user's language: the texts of commands and options, and how Chinese lines are broken.

The texts are in `ragkit.cli.words_zh_help`, by the English that the commands are written with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final
from unicodedata import east_asian_width

from ragkit.cli.words import language

_MAX_FIRST: Final = 30  # columns for what stands before an explanation, as click has it
_NO_START: Final = "，。；：、！？）》」』”’%)]},.;:!?"  # never at the beginning of a line
_CJK: Final = r"\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef\u2018-\u201d"
_WORDS: Final = re.compile(rf"\s+|\[[^\]]*\]|[{_CJK}]|[^\s{_CJK}]+")
# What Typer writes behind an explanation.
_EXTRA: Final = re.compile(r"  \[((?:[^\[\]]|\[[^\]]*\])+)\]$")
_TYPE: Final = re.compile(r"<([^<>]+)>")
_EXTRAS: Final = {"required": "必填", "default: ": "默认："}


def localise(command: Any) -> None:
    """Make a command and its subcommands write their help in the user's language."""
    command.context_class = _context_class(command.context_class)
    for inner in getattr(command, "commands", {}).values():
        localise(inner)
    if language() == "en":
        return
    if command.help and (text := translated(command.help)) != command.help:
        command.help, command.short_help = text, text.partition("\n\n")[0]
    for parameter in command.params:
        if getattr(parameter, "help", None):
            parameter.help = translated(parameter.help)


def translated(text: str) -> str:
    """Return a text of the help in Chinese, or as it is where there is no Chinese for it."""
    from ragkit.cli.words_zh_help import HELP

    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return HELP.get(text) or HELP.get("\n\n".join(paragraphs), text)


def _context_class(base: Any) -> Any:
    if getattr(base, "is_localised", False):
        return base
    formatter = _formatter_class(base.formatter_class)
    if language() == "zh":
        formatter = _chinese_class(formatter)
    return type("LocalContext", (base,), {"formatter_class": formatter, "is_localised": True})


def _formatter_class(base: Any) -> Any:
    class PlainFormatter(base):  # type: ignore[misc]  # typer has click in itself or beside itself
        """Writes help with placeholders such as TEXT where Typer names Python's types."""

        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            super().write_usage(prog, re.sub(r"{(\w+)}", r"\1", args), prefix)

        def write_dl(self, rows: Sequence[tuple[str, str]], *args: Any, **options: Any) -> None:
            super().write_dl([(plain_types(name), text) for name, text in rows], *args, **options)

    return PlainFormatter


def plain_types(name: str) -> str:
    """Write the types of Python in a name of the help as placeholders; an argument needs none.

    >>> plain_types("-k <int range>"), plain_types("--mode <a|b>"), plain_types("NAME <str>")
    ('-k N', '--mode a|b', 'NAME')
    """
    if not name.startswith("-"):
        return _TYPE.sub("", name).rstrip()
    return _TYPE.sub(lambda match: _placeholder(match[1]), name)


def _placeholder(kind: str) -> str:
    kind = kind.removeprefix("list[").removesuffix("]")
    if kind.startswith(("int", "float")):
        return "N"
    return {"str": "TEXT", "path": "PATH", "Path": "PATH", "file": "FILE"}.get(kind, kind)


def _chinese_class(base: Any) -> Any:
    class ChineseFormatter(base):  # type: ignore[misc]  # typer has click in itself or beside itself
        """Writes help with Chinese headings, and breaks lines between Chinese characters."""

        def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
            super().write_usage(prog, args, prefix or translated("Usage: "))

        def write_heading(self, heading: str) -> None:
            super().write_heading(translated(heading))

        def write_text(self, text: str) -> None:
            indent = " " * self.current_indent
            paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
            for paragraph in "\n\n".join(paragraphs).split("\n"):
                for line in wrapped(paragraph, self.width - self.current_indent) or [""]:
                    self.write(f"{indent}{line}".rstrip() + "\n")

        def write_dl(self, rows: Sequence[tuple[str, str]], *args: Any, **options: Any) -> None:
            rows = [(plain_types(name), text) for name, text in rows]
            widths = [columns(first) for first, _ in rows if columns(first) <= _MAX_FIRST]
            second = self.current_indent + max(widths, default=0) + 2
            for name, text in rows:
                self.write(" " * self.current_indent + name)
                used = self.current_indent + columns(name)
                if used + 2 > second:
                    self.write("\n")
                    used = 0
                for line in wrapped(_extras(translated(text)), max(self.width - second, 20)):
                    self.write(" " * (second - used) + line + "\n")
                    used = 0
                if not text:
                    self.write("\n")

    return ChineseFormatter


def _extras(text: str) -> str:
    """Translate the default and range that Typer appends in brackets."""
    match = _EXTRA.search(text)
    if match is None:
        return text
    extra = match[1]
    for english, chinese in _EXTRAS.items():
        extra = extra.replace(english, chinese)
    return f"{translated(text[: match.start()])}  [{extra}]"


def columns(text: str) -> int:
    """Count the columns that a text takes in a terminal.

    >>> columns("选项 a")
    6
    """
    return sum(1 + (east_asian_width(character) in "WF") for character in text)


def wrapped(text: str, width: int) -> list[str]:
    """Break a text into lines of so many columns, between words or Chinese characters.

    >>> wrapped("列出全部文档。", 8), wrapped("ragkit 列出文档", 8)
    (['列出全部', '文档。'], ['ragkit', '列出文档'])
    """
    lines: list[str] = []
    line = ""
    for piece in _pieces(text):
        if line and columns(line + piece.rstrip()) > width:
            lines.append(line.rstrip())
            line = piece.lstrip()
        else:
            line += piece
    return [*lines, line.rstrip()] if line.strip() else lines


def _pieces(text: str) -> Iterator[str]:
    """Yield what must not be broken: a word or a character, with the marks that follow it."""
    piece = ""
    for token in _WORDS.findall(text):
        if piece and token not in _NO_START:
            yield piece
            piece = ""
        piece += token
    yield piece
