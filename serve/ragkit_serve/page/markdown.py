"""A model's Markdown as HTML that loads nothing, opens nothing and runs nothing.

No raw HTML, no link and no image is read out of it; what comes out is checked once more against a
short list of tags. It knows answers only as text with spans in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from ragkit.text.markers import MARKER
from ragkit.types import Claim

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Private characters stand in the text for where marks begin and end while Markdown is read.
_PARTLY: Final = "\ue000"
_NOT_FOUND: Final = "\ue001"
_CLAIM_END: Final = "\ue002"
_PIECE: Final = "\ue003"
_PIECE_END: Final = "\ue004"
_SENTINELS: Final = re.compile("([\ue000-\ue004])")
# Control characters, and those that turn the direction of what follows.
_UNWANTED: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ue000-\ue004\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# What an item of a list begins with, in a quoted text: a sign, or a number.
_ITEM: Final = re.compile(r"[ \t]*(?:[-*•]|(\d{1,9})[.)])[ \t]+(?=\S)")
# What a line begins with in Markdown: a mark in front of it would make it text.
_LEADING: Final = re.compile(r"(?:[ \t]*(?:[-*+>]|#{1,6}|\d{1,9}[.)])[ \t]+)*[ \t]*")
MAX_PIECES: Final = 200  # arbitrary: pieces marked in one answer

_TAGS: Final = frozenset(
    "p br hr strong em s code pre ul ol li blockquote h1 h2 h3 h4 h5 h6 table thead tbody tr th td"
    " mark button span".split()
)
_ATTRIBUTES: Final = {
    "mark": {"class", "title"},
    "button": {"class", "type", "data-n", "aria-label"},
    "span": {"class"},
    "ol": {"start"},
}


def to_html(
    text: str,
    *,
    claims: Sequence[Claim] = (),
    unverified: Sequence[str] = (),
    cited: Collection[int] = (),
    markdown: bool = True,
    words: Mapping[str, str],
) -> str:
    """Render an answer: markers of `cited` sources become buttons, what is not supported marked.

    `claims` are spans of the text, `unverified` pieces of it; `words` are those of the page.
    Without `markdown` the text is plain, as quoted sentences are.
    """
    clean = _UNWANTED.sub("\ufffd", text)
    marked = _with_sentinels(clean, claims, unverified)
    renderer = _Rendering(cited, words)
    if markdown:
        for token in _parser().parse(marked):
            renderer.add(token)
    else:
        renderer.add_plain(marked)
    return _cleaned("".join(renderer.parts))


def _list_tag(line: str) -> str:
    """Return the tag of the list that a quoted line is an item of; empty where it is none."""
    mark = _ITEM.match(line)
    return "" if mark is None else "ul" if mark[1] is None else "ol"


def _start(items: Sequence[str]) -> int | None:
    """Return the first number of numbered items; None where they do not count up from it."""
    numbers = [int(mark[1]) for item in items if (mark := _ITEM.match(item))]
    counted = list(range(numbers[0], numbers[0] + len(items)))
    return numbers[0] if len(items) > 1 and numbers == counted else None


def plain(text: str) -> str:
    """Escape a text that is no Markdown; its line breaks stay."""
    return escape(_UNWANTED.sub("\ufffd", text))


class _Rendering:
    """Writes tokens as HTML; what lies between sentinels is marked, text by text."""

    def __init__(self, cited: Collection[int], words: Mapping[str, str]) -> None:
        self.parts: list[str] = []
        self._cited = cited
        self._words = words
        self._claim = self._piece = ""  # the title of the mark that is open

    def add(self, token: Token) -> None:
        if token.type == "inline":
            for child in token.children or ():
                self.add(child)
        elif token.type == "text":
            self._text(token.content)
        elif token.type in {"softbreak", "hardbreak"}:
            self.parts.append("<br>" if token.type == "hardbreak" else "\n")
        elif token.type in {"fence", "code_block"}:
            self.parts += ["<pre><code>", self._skipped(token.content), "</code></pre>"]
        elif token.type == "code_inline":
            self.parts.append(self._marked(f"<code>{self._skipped(token.content)}</code>"))
        elif token.tag in _TAGS and not token.hidden:
            self._tag(token)

    def add_plain(self, text: str) -> None:
        for paragraph in re.split(r"\n[ \t]*\n\s*", text.strip()):
            for tag, group in groupby(paragraph.split("\n"), _list_tag):
                lines = list(group)
                start = _start(lines) if tag == "ol" else None
                if tag == "ul" or start is not None:
                    self._list(tag, lines, None if start == 1 else start)
                else:
                    self._lines(lines)

    def _lines(self, lines: Iterable[str]) -> None:
        self.parts.append("<p>")
        for number, line in enumerate(lines):
            self.parts += ["<br>"] * (number > 0)
            self._text(line)
        self.parts.append("</p>")

    def _list(self, tag: str, items: Iterable[str], start: int | None) -> None:
        """Write quoted items as a list, which shows their signs or numbers itself."""
        self._open(tag, start)
        for item in items:
            self.parts.append("<li>")
            mark = _ITEM.match(item)
            self._text(item[mark.end() :] if mark else item)
            self.parts.append("</li>")
        self.parts.append(f"</{tag}>")

    def _tag(self, token: Token) -> None:
        if token.nesting < 0:
            self.parts.append(f"</{token.tag}>")
            return
        start = token.attrGet("start") if token.tag == "ol" else None
        self._open(token.tag, None if start is None else int(start))

    def _open(self, tag: str, start: int | None) -> None:
        number = "" if start is None else f' start="{start}"'
        self.parts.append(f"<{tag}{number}>")

    def _text(self, content: str) -> None:
        for part in _SENTINELS.split(content):
            if _SENTINELS.fullmatch(part):
                self._switch(part)
            elif part:
                self._with_markers(part)

    def _with_markers(self, text: str) -> None:
        at = 0
        for marker in MARKER.finditer(text):
            self.parts += [self._marked(escape(text[at : marker.start()])), self._marker(marker)]
            at = marker.end()
        self.parts.append(self._marked(escape(text[at:])))

    def _marker(self, marker: re.Match[str]) -> str:
        """Write a marker with a button for each number that it names and that was cited."""

        def button(number: re.Match[str]) -> str:
            n = int(number.group())
            if n not in self._cited:
                return number.group()
            label = escape(self._words["source_n"].format(n=n))
            return (
                f'<button type="button" class="rk-cite" data-n="{n}" aria-label="{label}">'
                f"{number.group()}</button>"
            )

        return f'<span class="rk-cites">{re.sub("[0-9]+", button, escape(marker.group(1)))}</span>'

    def _marked(self, html: str) -> str:
        title = self._piece or self._claim
        if not title or not html.strip():
            return html
        kind = "rk-piece" if self._piece else "rk-weak"
        return f'<mark class="{kind}" title="{escape(title)}">{html}</mark>'

    def _skipped(self, content: str) -> str:
        """Take the sentinels out of code, where nothing is marked inside; they still count."""
        for sentinel in _SENTINELS.findall(content):
            self._switch(sentinel)
        return escape(_SENTINELS.sub("", content))

    def _switch(self, sentinel: str) -> None:
        if sentinel in {_PARTLY, _NOT_FOUND}:
            self._claim = self._words["claim_partly" if sentinel == _PARTLY else "claim_not_found"]
        elif sentinel == _CLAIM_END:
            self._claim = ""
        else:
            self._piece = self._words["piece"] if sentinel == _PIECE else ""


def _with_sentinels(text: str, claims: Sequence[Claim], unverified: Sequence[str]) -> str:
    places: list[tuple[int, int, str]] = []
    for claim in claims:
        start = claim.start + _leading(text, claim.start, claim.end)
        if not claim.is_supported and start < claim.end:
            opening = _PARTLY if claim.support == "partly" else _NOT_FOUND
            places += [(start, 1, opening), (claim.end, 0, _CLAIM_END)]
    matches = [
        match.span()
        for piece in unverified[:MAX_PIECES]
        if piece.strip()
        for match in re.finditer(re.escape(_UNWANTED.sub("\ufffd", piece)), text)
    ]
    for start, end in matches[:MAX_PIECES]:
        places += [(start, 1, _PIECE), (end, 0, _PIECE_END)]
    parts, at = [], 0
    for place, _, sentinel in sorted(places):
        parts += [text[at:place], sentinel]
        at = place
    return "".join([*parts, text[at:]])


def _leading(text: str, start: int, end: int) -> int:
    """Count the characters of a span that are Markdown's signs at the beginning of a line."""
    if start and text[start - 1] != "\n":
        return 0
    match = _LEADING.match(text, start, end)
    return match.end() - start if match else 0


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "linkify": False})
    parser.enable(["table", "strikethrough"])
    parser.disable(["link", "image", "autolink", "reference", "html_inline", "html_block"])
    return parser


def _cleaned(html: str) -> str:
    import nh3

    return nh3.clean(
        html,
        tags=set(_TAGS),
        attributes={tag: set(names) for tag, names in _ATTRIBUTES.items()},
        attribute_filter=_filtered,
        url_schemes=set(),
        link_rel=None,
        strip_comments=True,
    )


def _filtered(tag: str, name: str, value: str) -> str | None:
    """Let only the values pass that this file writes."""
    allowed: dict[str, Any] = {
        "class": r"rk-(?:cite|cites|weak|piece)",
        "type": "button",
        "data-n": r"\d{1,3}",
        "start": r"\d{1,9}",
    }
    return value if re.fullmatch(allowed.get(name, r"[^<>]*"), value) else None
