"""The source of a citation: the cited span, highlighted, in its surroundings in the document.

It reads the stored text by offsets; a document that has changed since is never shown as if it had
not. It knows nothing of answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError
from ragkit.types import Citation
from ragkit_serve.ui.markdown import plain
from ragkit_serve.ui.turn import name_of

if TYPE_CHECKING:
    from ragkit.contracts import Store
    from ragkit.library import Caller

AROUND_CHARS: Final = 900  # arbitrary: about half a page on either side


def source_html(store: Store, caller: Caller, citation: Citation, words: Mapping[str, str]) -> str:
    """Write the panel of one citation. Raises DatabaseError."""
    try:
        document = store.document(citation.document)
        seen = caller.may_see(document.collection)
        text = store.text(citation.document) if seen and _same(citation, document.version) else ""
    except NotFoundError:
        return _panel(citation, "gone", _quoted(citation), words)
    if not seen:
        return _panel(citation, "gone", _quoted(citation), words)
    if not text:
        return _panel(citation, "replaced", _quoted(citation), words, now=document.version)
    return _panel(citation, "", _surrounded(text, citation), words)


def _same(citation: Citation, version: int) -> bool:
    return citation.version == version


def _panel(
    citation: Citation, note: str, passage: str, words: Mapping[str, str], *, now: int = 0
) -> str:
    places = [words["version"].format(version=citation.version)]
    if citation.page is not None:
        places.insert(0, words["page"].format(page=citation.page))
    noted = f'<p class="rk-note">{escape(words[note].format(now=now))}</p>' if note else ""
    verdict = escape(words[citation.verdict])
    return (
        f'<h2><span class="rk-n">{citation.n}</span> '
        f"{plain(name_of(citation.title, citation.uri))}</h2>"
        f'<p class="rk-place">{escape(" · ".join(places))}<br>'
        f'<span class="rk-uri">{plain(citation.uri)}</span></p>'
        f'<p class="rk-verdict rk-{citation.verdict}">{verdict}</p>{noted}'
        f'<div class="rk-passage">{passage}</div>'
    )


def _quoted(citation: Citation) -> str:
    return f'<mark class="rk-span">{plain(citation.quote)}</mark>'


def _surrounded(text: str, citation: Citation) -> str:
    start, end = citation.start, citation.end
    first = _word_start(text, max(0, start - AROUND_CHARS), start)
    last = _word_end(text, min(len(text), end + AROUND_CHARS), end)
    before, after = text[first:start], text[end:last]
    return (
        f"{'… ' if first else ''}{plain(before)}"
        f'<mark class="rk-span">{plain(text[start:end])}</mark>'
        f"{plain(after)}{' …' if last < len(text) else ''}"
    )


def _word_start(text: str, at: int, limit: int) -> int:
    """Move on to where a word begins, unless that is far: Chinese has no spaces."""
    if not at:
        return 0
    near = next((i for i in range(at, min(at + 40, limit)) if text[i].isspace()), None)
    return at if near is None else near + 1


def _word_end(text: str, at: int, limit: int) -> int:
    if at == len(text):
        return at
    return next((i for i in range(at, max(at - 40, limit), -1) if text[i].isspace()), at)
