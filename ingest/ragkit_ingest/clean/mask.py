"""Mask private data in a parsed text, its title, metadata and page labels, and in what users say.

What was masked is counted by kind; no value is kept, told or logged. What a kind looks like is its
own file's business.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from ragkit.settings.mask_kinds import PLACEHOLDERS
from ragkit.types import ParsedText, Span
from ragkit_ingest.clean.edits import Edit, edited, replaced
from ragkit_ingest.clean.kinds import api_key, card, cn_id, email, iban, phone, private_key
from ragkit_ingest.clean.kinds.candidates import runs
from ragkit_ingest.clean.kinds.plain_text import plain

if TYPE_CHECKING:
    from ragkit_ingest.sources.item import Value

_OF_TEXT: Final[dict[str, Callable[[str], Iterator[Span]]]] = {
    "private_key": private_key.find,
    "api_key": api_key.find,
    "email": email.find,
    "iban": iban.find,
}
_OF_RUNS: Final = {"cn_id": cn_id.find, "card": card.find, "phone": phone.find}


def masked(parsed: ParsedText, kinds: Collection[str]) -> ParsedText:
    """Put a placeholder in the place of everything of these kinds, and count it in `notes`."""
    counts: Counter[str] = Counter()
    text = edited(parsed, _edits(parsed.text, kinds, counts))

    def line(text: str) -> str:
        return replaced(text, _edits(text, kinds, counts))

    result = replace(
        text,
        title=line(text.title),
        metadata={line(k): str(_value(k, v, kinds, counts)) for k, v in text.metadata.items()},
        pages=tuple(
            replace(page, label=line(page.label)) if page.label else page for page in text.pages
        ),
    )
    masked_counts = _notes(counts)
    return replace(result, notes={**parsed.notes, **masked_counts}) if masked_counts else result


def masked_line(text: str, kinds: Collection[str]) -> tuple[str, dict[str, int]]:
    """Mask a line of its own; also return the counts by kind, as in `notes`."""
    counts: Counter[str] = Counter()
    return replaced(text, _edits(text, kinds, counts)), _notes(counts)


def masked_metadata(
    metadata: Mapping[str, Value], kinds: Collection[str]
) -> tuple[dict[str, Value], dict[str, int]]:
    """Mask metadata; also return the counts by kind.

    A number that is private becomes a text. Its key tells what a value is: {"phone": 5550123456}.
    """
    counts: Counter[str] = Counter()
    result = {
        replaced(key, _edits(key, kinds, counts)): _value(key, value, kinds, counts)
        for key, value in metadata.items()
    }
    return result, _notes(counts)


def _value(key: str, value: Value, kinds: Collection[str], counts: Counter[str]) -> Value:
    """Mask a value, read as "key: value", as a text would have it."""
    if isinstance(value, bool):
        return value
    integral = isinstance(value, float) and value.is_integer()
    text = str(int(value)) if integral else str(value)
    head = f"{key}: "
    private = find_private(head + text, kinds)
    spans = [(span, kind) for span, kind in private if span.start >= len(head)]
    counts.update(kind for _, kind in spans)
    edits = [
        Edit(span.start - len(head), span.end - len(head), PLACEHOLDERS[kind])
        for span, kind in spans
    ]
    return replaced(text, edits) if edits else value


def _notes(counts: Counter[str]) -> dict[str, int]:
    return {f"masked {kind}": counts[kind] for kind in PLACEHOLDERS if counts[kind]}


def find_private(text: str, kinds: Collection[str]) -> list[tuple[Span, str]]:
    """List the stretches of a text that are of these kinds, in order and not overlapping.

    Where two overlap, a key wins over an address, and an address over a number.

    >>> find_private("write to a@example.com", {"email"})
    [(Span(start=9, end=22), 'email')]
    """
    readable = plain(text)
    spans_by_kind: list[tuple[Span, str]] = []
    numbers = runs(readable) if not _OF_RUNS.keys().isdisjoint(kinds) else []
    for kind in [*_OF_TEXT, *_OF_RUNS]:
        if kind in kinds:
            spans = (
                _OF_RUNS[kind](readable, numbers) if kind in _OF_RUNS else _OF_TEXT[kind](readable)
            )
            spans_by_kind = _merged(spans_by_kind, spans, kind)
    return spans_by_kind


def _edits(text: str, kinds: Collection[str], counts: Counter[str]) -> list[Edit]:
    every = find_private(text, kinds) if text else []
    counts.update(kind for _, kind in every)
    return [Edit(span.start, span.end, PLACEHOLDERS[kind]) for span, kind in every]


def _merged(
    spans_by_kind: list[tuple[Span, str]], spans: Iterable[Span], kind: str
) -> list[tuple[Span, str]]:
    """Add a kind's stretches, the longer of two that begin together, save where one is taken."""
    added: list[tuple[Span, str]] = []
    place = end = 0
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        while place < len(spans_by_kind) and spans_by_kind[place][0].end <= span.start:
            place += 1
        free = place == len(spans_by_kind) or span.end <= spans_by_kind[place][0].start
        if free and end <= span.start:
            added.append((span, kind))
            end = span.end
    return sorted([*spans_by_kind, *added], key=lambda pair: pair[0].start)
