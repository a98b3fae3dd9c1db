"""A question and its answer as HTML: text with citations and marks, sources, what was measured.

Everything that a document, a model or a user wrote is escaped or rendered safely.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from ragkit.question.reading import has_cjk
from ragkit.text.places import heading_path
from ragkit.types import Citation, Claim
from ragkit_serve.page.markdown import plain, to_html

if TYPE_CHECKING:
    from ragkit.store.people.conversations import StoredTurn

Words = Mapping[str, str]
Mark = Literal["quoted", "supported", "partly", "missing"]


def turn_html(turn: StoredTurn, conversation: UUID, *, markdown: bool, words: Words) -> str:
    """Write a whole turn; without `markdown` the answer is shown as plain text, with its marks."""
    text = to_html(
        turn.answer,
        claims=() if turn.refused else turn.claims,
        unverified=turn.unverified,
        cited={citation.n for citation in turn.citations},
        markdown=markdown,
        words=words,
    )
    kind = "rk-answer rk-refusal" if turn.refused else "rk-answer"
    return (
        f'<article class="rk-turn" data-answer="{conversation}/{turn.ordinal}">'
        f'<div class="rk-asked">{_button("edit", words)}'
        f'<div class="rk-question">{plain(turn.question)}</div></div>'
        f'<div class="{kind}">{_refusal(turn, words)}<div class="rk-text">{text}</div>'
        f"{_reason(turn)}{_weak_note(text, words)}{_sources(turn, words)}"
        f"{_searched(turn, words)}{_footer(turn, words)}</div></article>"
    )


def name_of(title: str, uri: str) -> str:
    """Name a document by its title, or by its file's name."""
    return title or PurePath(uri.rsplit("/", 1)[-1]).name or uri


def place(citation: Citation, words: Words) -> str:
    """Say where a citation stands: document, headings and page."""
    named = name_of(citation.title, citation.uri)
    page = "" if citation.page is None else words["page"].format(page=citation.page)
    parts = (named, heading_path(named, citation.headings), page)
    return ("，" if has_cjk(named) else ", ").join(filter(None, parts))


def verdict_of(cited: Sequence[Citation]) -> str:
    """Say "verified" only where every one of the quotations is."""
    return "verified" if all(citation.verdict == "verified" for citation in cited) else "unverified"


def _refusal(turn: StoredTurn, words: Words) -> str:
    return f'<p class="rk-label">{escape(words["refused"])}</p>' if turn.refused else ""


def _reason(turn: StoredTurn) -> str:
    """Write the reason of a refusal as a sentence; it is stored as a part of one."""
    if not turn.refused or not turn.reason:
        return ""
    reason = turn.reason[:1].upper() + turn.reason[1:]
    end = "" if reason.endswith((".", "。")) else "。" if has_cjk(reason) else "."
    return f'<p class="rk-reason">{plain(reason)}{end}</p>'


def _weak_note(text: str, words: Words) -> str:
    return f'<p class="rk-note">{escape(words["weak_note"])}</p>' if "<mark " in text else ""


def _sources(turn: StoredTurn, words: Words) -> str:
    """List the sources, each once, with what was checked of the sentences that cite it."""
    if not turn.citations:
        return ""
    by_number: dict[int, list[Citation]] = {}
    for citation in turn.citations:
        by_number.setdefault(citation.n, []).append(citation)
    items = "".join(
        _source(n, cited, _mark(n, cited, turn.claims), words)
        for n, cited in sorted(by_number.items())
    )
    return f'<ol class="rk-sources" aria-label="{escape(words["sources"])}">{items}</ol>'


def _source(n: int, cited: Sequence[Citation], mark: Mark, words: Words) -> str:
    good = mark in {"quoted", "supported"}
    checked = f"{'✓' if good else '?'} {escape(words[f'mark_{mark}'])}"
    shown_as = "rk-verified" if good else "rk-unverified"
    title = escape(words[verdict_of(cited)])
    return (
        f'<li><button type="button" class="rk-source" data-n="{n}"><span class="rk-n">{n}</span>'
        f" {plain(place(cited[0], words))} "
        f'<span class="{shown_as}" title="{title}">{checked}</span></button></li>'
    )


def _mark(n: int, cited: Sequence[Citation], claims: Sequence[Claim]) -> Mark:
    """Say what holds of everything that cites a source.

    Sentences quoted word for word are only "quoted"; "supported" is what somebody else wrote.
    """
    if verdict_of(cited) == "unverified":
        return "missing"
    citing = [claim for claim in claims if n in claim.cites]
    if not all(claim.is_supported for claim in citing):
        return "partly"
    return "quoted" if all(claim.support == "quoted" for claim in citing) else "supported"


def _searched(turn: StoredTurn, words: Words) -> str:
    """Say what was searched for where that is not the question, and which phrase stands nowhere."""
    notes = []
    if turn.query not in {"", turn.question}:
        notes.append(words["searched_for"].format(query=turn.query))
    if phrase := turn.trace.get("search phrase"):
        notes.append(words["phrase_nowhere"].format(phrase=phrase))
    return "".join(f'<p class="rk-searched">{plain(line)}</p>' for line in notes)


def _footer(turn: StoredTurn, words: Words) -> str:
    buttons = "".join(_button(act, words) for act in ("copy", "again", "good", "bad"))
    return f'<footer class="rk-acts">{buttons}{_measured(turn, words)}</footer>'


def _button(act: str, words: Words) -> str:
    label = escape(words[act])
    return (
        f'<button type="button" class="rk-act" data-act="{act}" aria-label="{label}"'
        f' title="{label}"></button>'
    )


def _measured(turn: StoredTurn, words: Words) -> str:
    """Write how long each stage took, folded away."""
    rows = "".join(
        f"<tr><th>{escape(words.get(f'stage_{stage}', stage))}</th>"
        f"<td>{escape(words['seconds'].format(seconds=f'{seconds:.2f}'))}</td></tr>"
        for stage, seconds in turn.timings.items()
    )
    if not rows:
        return ""
    total = words["seconds"].format(seconds=f"{sum(turn.timings.values()):.1f}")
    return (
        f'<details class="rk-times"><summary title="{escape(words["timings"])}">{escape(total)}'
        f"</summary><table>{rows}</table></details>"
    )
