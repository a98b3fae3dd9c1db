"""Text as a person reads it: Markdown and HTML marks taken off, the words left as they stand.

Sources: CommonMark 0.31.2 (https://spec.commonmark.org/0.31.2/) for emphasis, links, code spans
and headings; of its rules those that single sentences need.
"""

import html
import re
from collections.abc import Sequence
from itertools import zip_longest
from typing import Final

from ragkit.text.analyse import CJK_CHARACTER

_WORD: Final = "A-Za-z0-9"
_IMAGE_OR_LINK: Final = re.compile(
    r"!?\[([^\[\]]*)\](?:\([^()\s]*(?:\s\"[^\"]*\")?\)|\[[^\[\]]*\])"
)
_AUTOLINK: Final = re.compile(r"<((?:https?://|mailto:)[^<>\s]{1,2000})>")
_TAG: Final = re.compile(
    r"</?(?:a|abbr|b|big|br|code|div|em|i|kbd|mark|p|q|s|small|span|strong|sub|sup|u)(?:\s[^<>]*)?/?>",
    re.IGNORECASE,
)
_ENTITY: Final = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]\w{1,30});")
_LINE_MARK: Final = re.compile(r"^[ \t]*(?:#{1,6}(?=[ \t])|>)[ \t]*", re.MULTILINE)
_CLOSING_HASHES: Final = re.compile(r"(?<=[ \t])#+[ \t]*$", re.MULTILINE)
_FENCE: Final = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)")
# Strong marks stand in pairs, one of which the edge of a sentence may have cut off. Within an
# ASCII word they are its own: 2**3.
_STRONG: Final = re.compile(rf"(?<![{_WORD}])(?:\*\*+|__+|~~)|(?:\*\*+|__+|~~)(?![{_WORD}])")
_EMPHASIS: Final = re.compile(
    rf"(?<![{_WORD}*\\])\*(?=[^\s*])([^*\n]{{1,500}})(?<=[^\s\\])\*(?![{_WORD}*])"
    rf"|(?<![\w\\])_(?=[^\s_])([^_\n]{{1,500}})(?<=[^\s\\])_(?!\w)"
)
_ESCAPED: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_ITEM: Final = re.compile(r"[ \t>]*(?:[-*+•]|\d{1,3}[.)、]|[(（]\d{1,3}[)）])")
_RULE: Final = re.compile(r"\|?[\s|:-]+$")
_CELL: Final = re.compile(r"(?<!\\)\|")


def plain(text: str) -> str:
    r"""Return a text without the marks of Markdown and of inline HTML; line breaks stay.

    Numbers and bullets of lists stay, as they are part of what is read.

    >>> plain("**Opening hours:** see [our page](https://example.org), *please*.")
    'Opening hours: see our page, please.'
    >>> plain("价格**30元**，代码`A_1`，2**3 \\* 4")
    '价格30元，代码A_1，2**3 * 4'
    """
    text = _FENCE.sub("", text)
    text = _IMAGE_OR_LINK.sub(r"\1", text)
    text = _AUTOLINK.sub(r"\1", text)
    text = _TAG.sub(lambda tag: " " if tag[0][:3].lower() == "<br" else "", text)
    text = _CLOSING_HASHES.sub("", _LINE_MARK.sub("", text))
    text = _STRONG.sub("", text)
    text = _EMPHASIS.sub(lambda match: match[1] or match[2], text)
    text = _CODE.sub("", text)
    text = _ESCAPED.sub(r"\1", text)
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), text)


def cells(row: str) -> list[str]:
    """Return the plain texts of a Markdown table row's cells.

    >>> cells("| **Li Wei** | 4711 |")
    ['Li Wei', '4711']
    """
    inner = row.strip().removeprefix("|")
    parts = _CELL.split(inner)
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [" ".join(plain(part).split()) for part in parts]


def row_text(row: str, head: Sequence[str]) -> str:
    """Return a table row as text: each cell with the name of its column, empty cells left out.

    >>> row_text("| Li Wei | 4711 | |", ["Name", "Extension", "Room"])
    'Name: Li Wei; Extension: 4711'
    >>> row_text("| 李伟 | 4711 |", ["姓名", "分机"])
    '姓名：李伟；分机：4711'
    """
    chinese = CJK_CHARACTER.search("".join(head)) is not None
    colon, semicolon = ("：", "；") if chinese else (": ", "; ")
    parts = [
        f"{name}{colon}{cell}" if name and name != cell else cell
        for name, cell in zip_longest(head, cells(row), fillvalue="")
        if cell
    ]
    return semicolon.join(parts)


def rows_text(rows: str, head: Sequence[str]) -> str:
    """Return rows of a table as text, each on a line of its own.

    >>> rows_text("| Li Wei | 4711 |\\n| Ann Lee | |", ["Name", "Extension"])
    'Name: Li Wei; Extension: 4711\\nName: Ann Lee'
    """
    return "\n".join(row_text(line, head) for line in rows.splitlines() if line.strip())


def is_rule(line: str) -> bool:
    """Tell whether a line is the rule under a Markdown table's head row.

    >>> is_rule("| --- | :-: |"), is_rule("|  |  |")
    (True, False)
    """
    return "-" in line and _RULE.match(line) is not None


def head_above(text: str, start: int) -> list[str]:
    """Return the names of the columns of the table that has a row at an offset; [] for none.

    >>> head_above("| Name | Ext |\\n|---|---|\\n| Li Wei | 4711 |", 26)
    ['Name', 'Ext']
    """
    first = text.rfind("\n", 0, start) + 1
    below = first
    while first and text.startswith("|", above := text.rfind("\n", 0, first - 1) + 1):
        below, first = first, above
    end = text.find("\n", below)
    rule = text[below : len(text) if end < 0 else end]
    return cells(text[first:below]) if first < below and is_rule(rule.strip()) else []


def list_text(text: str) -> str:
    """Return a list with its introduction as text, each item on a line of its own.

    >>> list_text("To reset it:\\n\\n1. **Hold** the button\\n   for 5 s.\\n2. Wait.")
    'To reset it:\\n1. Hold the button for 5 s.\\n2. Wait.'
    """
    lines: list[str] = []
    for line in plain(text).splitlines():
        words = " ".join(line.split())
        if not words:
            continue
        if lines and not _ITEM.match(line):
            lines[-1] = f"{lines[-1]} {words}"
        else:
            lines.append(words)
    return "\n".join(lines)
