"""Remove links, images and HTML from a streamed answer: its text loads and opens nothing.

The first step replaces well-formed ones by their text; the second breaks with a space whatever a
Markdown renderer could still take for one, so that safety depends on the second step alone. A URL
that a passage contains may stay as plain text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Protocol

from ragkit.answer.check.stray_markers import MarkerFilter
from ragkit.text.markers import MARKER
from ragkit.types import Draft, Hit, Reasoning

REMOVED: Final = "…"  # replaces a URL that no passage has

_OPENER = re.compile(r"[!\[\]<]")
# Bounded, so that little is held back; the limits are arbitrary, and longer ones are broken.
_BRACKETS = re.compile(r"\[([^\[\]]{0,300})\]")
_BRACKETS_OPEN = re.compile(r"\[[^\[\]]{0,300}\Z")
_INNER = r"(?:[^()\n\\]|\\.|\([^()\n]{0,99}\)){0,600}"
_TARGET = re.compile(rf"\(({_INNER})\)")
_TARGET_OPEN = re.compile(rf"\({_INNER}(?:\\|\([^()\n]{{0,99}})?\Z")
_PLAIN_TARGET = re.compile(r"[\w\s,.'\"=+*-]*")  # as in the code handlers[i](event): no address
_DEFINITION = re.compile(r":[ \t]{0,9}(?:\n[ \t]{0,9})?(\S{1,600})(?=\s)")
_DEFINITION_OPEN = re.compile(r":[ \t]{0,9}(?:\n[ \t]{0,9})?\S{0,600}\Z")
_TAG = re.compile(r"<([^<>]{1,300})>")
_TAG_OPEN = re.compile(r"<[^<>]{0,300}\Z")
_ADDRESS = re.compile(r"[A-Za-z][\w+.\-]{1,31}:\S*|\S+@\S+")
_HTML = re.compile(
    r"/?(?:a|abbr|applet|area|article|audio|base|body|br|button|canvas|center|div|embed|font|form"
    r"|frame|frameset|h[1-6]|head|hr|html|iframe|image|img|input|label|link|marquee|math|meta"
    r"|object|option|p|param|picture|script|section|select|source|span|style|svg|table|tbody|td"
    r"|template|textarea|th|thead|title|tr|track|use|video|xml)(?:[\s/].*)?",
    re.IGNORECASE | re.DOTALL,
)

# Programs that read addresses take fullwidth letters and marks for ordinary ones.
_WIDE = "０-９Ａ-Ｚａ-ｚ．／：－＿"
_FOLD = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if re.match(f"[{_WIDE}]", chr(code))}
_RUN = re.compile(rf"[!-~{_WIDE}]+")
_RUN_CHARACTERS = "".join(map(chr, (*range(0x21, 0x7F), *_FOLD)))
_URL = re.compile(
    r"(?:[a-z][a-z0-9+.\-]{0,30}\\?:\\?/\\?/"
    r"|(?<![a-z0-9])(?:https?|ftp|wss?|mailto|xmpp|javascript|vbscript)\\?:(?=.)"
    r"|(?<![a-z0-9])data\\?:(?=[a-z]*/|[;,])"
    r"|(?<![a-z0-9])www\\?\.(?=.)"
    # A bare host with a path: some renderers make it a link.
    r"|(?<![a-z0-9.\-])(?:[a-z0-9\-]{1,63}\.){1,6}"
    r"(?:com|net|org|edu|gov|info|biz|app|dev|xyz|top|site|online|shop|link|click|cn|io|co|uk|ru)"
    r"(?=(?::\d+)?[/?#]))"
    r"[^<>\"`\[\]]*",
    re.IGNORECASE,
)
_TRAILING = ".,;:!?)}'*_~|\\"
# What a URL or a break cannot do without; most words have none of it.
_TELLING = re.compile(rf"[:：<\]&]|[.．](?=[!-~{_WIDE}])")
_BREAKS = re.compile(
    r"(?P<harmless></?(?:b|br|code|em|i|kbd|strong|sub|sup|u)/?>|&(?:amp|lt|gt|quot|nbsp|apos|#39);)"
    r"|(?P<bracket>\])(?=[(:])|(?P<angle><)(?=[A-Za-z/!?]|[^<>@]*@)|(?P<entity>&)(?=#?\w{1,32};)",
    re.IGNORECASE,
)


def remove_links(text: str, used: Sequence[Hit] = ()) -> str:
    """Return a text without links, images and HTML; a URL that `used` contains stays.

    >>> remove_links("So it is [1]. See [the page](https://example.com/?q=x) ![](//example.com/a)")
    'So it is [1]. See the page '
    """
    steps = (_Unwrapping(), _Breaking(used))
    return _finish(steps, text)


def sanitise_pieces(
    pieces: Iterable[str | Reasoning | Draft], used: Sequence[Hit] = ()
) -> Iterator[str | Reasoning | Draft]:
    """Pass a generator's text through a `Cleaning`; the draft gets the text that was passed.

    >>> list(sanitise_pieces(["See [the", " page](https://exam", "ple.com/?q=x) ", "and go"]))
    ['See the ', 'page and ', 'go']
    """
    cleaning = Cleaning(used)
    text: list[str] = []
    for piece in pieces:
        if isinstance(piece, Reasoning):
            yield piece
        elif isinstance(piece, Draft):
            text.append(cleaning.end())
            if text[-1]:
                yield text[-1]
            yield replace(piece, text="".join(text))
            return
        elif passed := cleaning.take(piece):
            text.append(passed)
            yield passed
    if tail := cleaning.end():
        yield tail


class Cleaning:
    """Pass an answer without links, images, HTML, and markers that name no passage.

    The pieces joined are the same however the text was cut. Offsets into documents are untouched.
    """

    def __init__(self, used: Sequence[Hit]) -> None:
        # The output of the first two steps could form a link again: the breaking comes last.
        self._steps = (_Unwrapping(), MarkerFilter(len(used)), _Breaking(used))

    def take(self, piece: str) -> str:
        """Return all text so far that can be passed on."""
        for step in self._steps:
            piece = step.take(piece)
        return piece

    def end(self) -> str:
        """Return the text that was held back, as nothing follows."""
        return _finish(self._steps, "")


class _Step(Protocol):
    def take(self, piece: str) -> str: ...

    def end(self) -> str: ...


def _finish(steps: Iterable[_Step], text: str) -> str:
    for step in steps:
        text = step.take(text) + step.end()
    return text


class _Unwrapping:
    """Replace links, images, definitions, autolinks and HTML tags by their visible text."""

    def __init__(self) -> None:
        self._held = ""

    def take(self, piece: str) -> str:
        if not self._held and not _OPENER.search(piece):
            return piece
        return self._pass(self._held + piece, final=False)

    def end(self) -> str:
        return self._pass(self._held, final=True)

    def _pass(self, text: str, *, final: bool) -> str:
        passed: list[str] = []
        position = 0
        while opener := _OPENER.search(text, position):
            passed.append(text[position : opener.start()])
            position = opener.start()
            outcome = _READERS[opener[0]](text, position, final)
            if outcome is None:
                break
            visible, position = outcome
            passed.append(visible)
        else:
            passed.append(text[position:])
            position = len(text)
        self._held = text[position:]
        return "".join(passed)


# A reader returns the visible text at an opener and where to go on, or None to wait for more.
_Outcome = tuple[str, int] | None


def _image(text: str, at: int, final: bool) -> _Outcome:
    if at + 1 == len(text):
        return ("!", at + 1) if final else None
    if text[at + 1] != "[":
        return "!", at + 1
    outcome = _link(text, at + 1, final)
    if outcome is None:
        return None
    visible, end = outcome
    brackets = _BRACKETS.match(text, at + 1)
    if brackets is None or MARKER.fullmatch(brackets[0]):
        return ("!" if visible.startswith("[") else "") + visible, end
    return brackets[1], max(end, brackets.end())


def _link(text: str, at: int, final: bool) -> _Outcome:
    brackets = _BRACKETS.match(text, at)
    if brackets is None:
        return None if not final and _BRACKETS_OPEN.match(text, at) else ("[", at + 1)
    bracketed = brackets[0]
    bare = bracketed if MARKER.fullmatch(bracketed) else brackets[1]
    end = brackets.end()
    if end == len(text):
        return (bracketed, end) if final else None
    if text[end] == "(":
        return _target(text, end, final, bare, bracketed)
    if text[end] == ":":
        defined = _DEFINITION.match(text + "\n" if final else text, end)
        if defined is None:
            undecided = not final and _DEFINITION_OPEN.match(text, end)
            return None if undecided else (bracketed, end)
        if not _PLAIN_TARGET.fullmatch(defined[1]) and _is_address(defined[1]):
            return ("" if bare != bracketed else bracketed), defined.end(1)
    return bracketed, end


def _target(text: str, at: int, final: bool, bare: str, bracketed: str) -> _Outcome:
    """Read the bracketed target behind a link's text."""
    target = _TARGET.match(text, at)
    if target is None:
        return None if not final and _TARGET_OPEN.match(text, at) else (bracketed, at)
    return (bracketed, at) if _PLAIN_TARGET.fullmatch(target[1]) else (bare, target.end())


def _closing(text: str, at: int, final: bool) -> _Outcome:
    """Read a closing bracket without an opening one, as around an image that is a link."""
    if at + 1 == len(text):
        return ("]", at + 1) if final else None
    return _target(text, at + 1, final, "]", "]") if text[at + 1] == "(" else ("]", at + 1)


def _tag(text: str, at: int, final: bool) -> _Outcome:
    tag = _TAG.match(text, at)
    if tag is None:
        return None if not final and _TAG_OPEN.match(text, at) else ("<", at + 1)
    if _ADDRESS.fullmatch(tag[1]):
        return tag[1], tag.end()
    if tag[0].casefold() in ("<br>", "<br/>"):
        return tag[0], tag.end()
    return (" ", tag.end()) if _HTML.fullmatch(tag[1]) else ("<", at + 1)


def _is_address(target: str) -> bool:
    return target.startswith(("/", "<", "\\", "#", "&")) or bool(_URL.search(_folded(target)))


_READERS = {"!": _image, "[": _link, "]": _closing, "<": _tag}


class _Breaking:
    """Break with a space what could become a link or a tag, and remove URLs that no passage has.

    None of these contains a blank: it is enough to hold back the last word.
    """

    def __init__(self, used: Sequence[Hit]) -> None:
        self._allowed = {url for hit in used for url in _urls(f"{hit.uri} {hit.title} {hit.text}")}
        self._held: list[str] = []

    def take(self, piece: str) -> str:
        cut = len(piece.rstrip(_RUN_CHARACTERS))
        if cut == 0:
            self._held.append(piece)
            return ""
        text = "".join((*self._held, piece[:cut]))
        self._held = [piece[cut:]]
        return self._broken(text)

    def end(self) -> str:
        text, self._held = "".join(self._held), []
        return self._broken(text)

    def _broken(self, text: str) -> str:
        return _RUN.sub(self._word, text) if _TELLING.search(text) else text

    def _word(self, match: re.Match[str]) -> str:
        word, following = match[0], match.string[match.end() : match.end() + 1]
        broken: list[str] = []
        position = 0
        for url in _URL.finditer(_folded(word)):
            broken.append(_BREAKS.sub(_break, word[position : url.start()]))
            broken.append(self._url(word, url, following))
            position = url.end()
        broken.append(_BREAKS.sub(_break, word[position:]))
        return _BREAKS.sub(_break, "".join(broken))

    def _url(self, word: str, url: re.Match[str], following: str) -> str:
        written = word[url.start() : url.end()]
        bare = written.rstrip(_TRAILING)
        if bare not in self._allowed:
            return REMOVED + written[len(bare) :]
        # A renderer would take text that follows without a blank for a part of the URL.
        follows = word[url.end() : url.end() + 1] or following.strip()
        return written + (" " if follows else "")


def _break(match: re.Match[str]) -> str:
    if match["harmless"]:
        return match[0]
    return "＆" if match["entity"] else f"{match[0]} "


def _urls(text: str) -> list[str]:
    return [
        word[url.start() : url.end()].rstrip(_TRAILING)
        for word in _RUN.findall(text)
        if _TELLING.search(word)
        for url in _URL.finditer(_folded(word))
    ]


def _folded(text: str) -> str:
    return text.translate(_FOLD)
