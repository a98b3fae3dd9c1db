"""An answer's citations as OpenAI's `annotations`: places in its text, each with a link.

A link leads to the cited words at this server's own address, where the reader needs a key or a
log-in as everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragkit.text.markers import find_markers

if TYPE_CHECKING:
    from ragkit.types import Answer, Citation


def url_citations(answer: Answer, server: str) -> list[dict[str, Any]]:
    """Return a `url_citation` for each number in each marker of the text, such as `[1]`.

    `start_index` and `end_index` count characters, the end exclusive. Of a source that several
    sentences cite, the first cited words are linked. `server` is the address that links begin with.
    """
    sources: dict[int, Citation] = {}
    for citation in answer.citations:
        sources.setdefault(citation.n, citation)
    return [
        {
            "type": "url_citation",
            "url_citation": {
                "start_index": marker.start,
                "end_index": marker.end,
                "title": _title(sources[n]),
                "url": _link(sources[n], server),
            },
        }
        for marker in find_markers(answer.text)
        for n in marker.numbers
        if n in sources
    ]


def _title(citation: Citation) -> str:
    """Name a source with its number: some clients number by themselves, or show names alone."""
    page = "" if citation.page is None else f", p. {citation.page}"
    return f"[{citation.n}] {citation.title or citation.uri.rpartition('/')[2]}{page}"


def _link(citation: Citation, server: str) -> str:
    where = f"start={citation.start}&end={citation.end}"
    return f"{server}/v1/documents/{citation.document}/text?{where}"
