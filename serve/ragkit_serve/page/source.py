"""The source of a citation: the cited span, highlighted, in its surroundings in the document.

It reads the stored text by offsets; a document that has changed since is never shown as if it had
not. Beside the text of a PDF there is a place for the original page, which static/original.js
fills.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from ragkit.errors import NotFoundError
from ragkit.store.jobs.upload_bytes import PREFIX
from ragkit.text.places import heading_path
from ragkit.types import Citation, Span
from ragkit_serve.api.pages import MAX_MARKED
from ragkit_serve.page.markdown import plain
from ragkit_serve.page.turn import name_of, verdict_of

if TYPE_CHECKING:
    from ragkit.access.library import Caller
    from ragkit.contracts import Store
    from ragkit.store.jobs.originals import Originals

AROUND_CHARS: Final = 900  # arbitrary: about half a page on either side
MAX_CHARS: Final = 20_000  # arbitrary: of the panel; a passage is far shorter


def source_html(
    store: Store,
    caller: Caller,
    cited: Sequence[Citation],
    words: Mapping[str, str],
    originals: Originals | None = None,
) -> str:
    """Write the panel of one source: the quotations `cited` from one document, at least one.

    With `originals` there is a place for the page of a PDF.

    Raises DatabaseError.
    """
    first = cited[0]
    try:
        document = store.document(first.document)
        if not caller.may_see(document.collection):
            return _panel(cited, "gone", _quoted(cited), words)
        text = store.text(first.document)
    except NotFoundError:
        return _panel(cited, "gone", _quoted(cited), words)
    if document.version != first.version:
        return _panel(cited, "replaced", _quoted(cited), words, current=document.version)
    figure = _figure(cited, originals)
    return _panel(cited, "", surrounded(text, cited), words, figure=figure)


def passage_html(
    store: Store,
    place: Citation,
    words: Mapping[str, str],
    originals: Originals | None = None,
) -> str:
    """Write the panel of a passage that a search found: of `place`, number and verdict say nothing.

    Raises NotFoundError, DatabaseError.
    """
    text = store.text(place.document)
    figure = _figure([place], originals)
    return _about(place, words) + _beside(surrounded(text, [place]), place, figure)


def surrounded(text: str, cited: Sequence[Citation]) -> str:
    """Write the part of a text around its cited spans, each highlighted."""
    spans = _merged(cited)
    start, end = spans[0].start, min(spans[-1].end, spans[0].start + MAX_CHARS)
    first = _word_start(text, max(0, start - AROUND_CHARS), start)
    last = _word_end(text, min(len(text), end + AROUND_CHARS), end)
    parts, at = ["… " if first else ""], first
    for span in spans:
        parts += [plain(text[at : span.start]), _marked(text[span.start : min(span.end, last)])]
        at = span.end
        if at >= last:
            break
    return "".join([*parts, plain(text[at:last]), " …" if last < len(text) else ""])


def _panel(
    cited: Sequence[Citation],
    note: str,
    passage: str,
    words: Mapping[str, str],
    *,
    current: int = 0,
    figure: str = "",
) -> str:
    first, verdict = cited[0], verdict_of(cited)
    number = f'<span class="rk-n">{first.n}</span> '
    noted = f'<p class="rk-note">{escape(words[note].format(now=current))}</p>' if note else ""
    return (
        f"{_about(first, words, number=number)}"
        f'<p class="rk-{verdict}">{escape(words[verdict])}</p>{noted}'
        f"{_beside(passage, first, figure)}"
    )


def _about(place: Citation, words: Mapping[str, str], *, number: str = "") -> str:
    places = [words["version"].format(version=place.version)]
    if place.page is not None:
        places.insert(0, words["page"].format(page=place.page))
    if path := heading_path(name_of(place.title, place.uri), place.headings):
        places.insert(0, path)
    return (
        f"<h2>{number}{plain(name_of(place.title, place.uri))}</h2>"
        f'<p class="rk-place">{escape(" · ".join(places))}<br>'
        f"{plain(place.uri.removeprefix(PREFIX))}</p>"
    )


def _beside(passage: str, place: Citation, figure: str) -> str:
    return (
        f'<div class="rk-beside">{figure}'
        f'<div class="rk-passage" data-uri="{plain(place.uri)}">{passage}</div></div>'
    )


def _figure(cited: Sequence[Citation], originals: Originals | None) -> str:
    """Write the place of the page on which the first quotation begins; "" where there is none."""
    first = cited[0]
    if originals is None or first.page is None:
        return ""
    try:
        originals.find(first.document)
    except NotFoundError:
        return ""
    spans = _merged(cited)[:MAX_MARKED]
    marks = " ".join(f"{span.start}-{span.end}" for span in spans)
    return (
        f'<figure class="rk-original" data-document="{first.document}"'
        f' data-version="{first.version}" data-page="{first.page}" data-marks="{marks}"'
        f' data-title="{plain(name_of(first.title, first.uri))}"></figure>'
    )


def _quoted(cited: Sequence[Citation]) -> str:
    return "\n\n".join(_marked(citation.quote) for citation in cited)


def _marked(text: str) -> str:
    return f'<mark class="rk-span">{plain(text)}</mark>'


def _merged(cited: Sequence[Citation]) -> list[Span]:
    """Sort the spans and join those that overlap."""
    spans: list[Span] = []
    for start, end in sorted({(citation.start, citation.end) for citation in cited}):
        if spans and start <= spans[-1].end:
            spans[-1] = Span(spans[-1].start, max(spans[-1].end, end))
        else:
            spans.append(Span(start, end))
    return spans


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
