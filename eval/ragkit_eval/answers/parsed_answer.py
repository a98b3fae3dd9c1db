"""Parse the JSON of an answer, from `--json` or a run file, into values that can be checked."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragkit.errors import UsageError
from ragkit.types import Citation, Hit

_KINDS = {str: "a string", bool: "true or false", int: "a whole number", list: "a list"}


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer's text, its citations, and the passages that were retrieved for it.

    Documents get new numbers, and verdicts of citations are dropped. `joined` has each text that
    several overlapping or adjacent passages of a document make together.
    """

    text: str
    refused: bool
    citations: tuple[Citation, ...]
    passages: tuple[Hit, ...]
    joined: tuple[Hit, ...] = ()


def parse_answer(answer: Mapping[str, Any]) -> ParsedAnswer:
    """Parse the JSON of `ragkit ask --json`, with "hits" or "used" passages and their text.

    A passage is {"document" or "uri", "start", "end", "text"} and may have "title" and "headings".
    A passage that is in both lists, with the same span, needs its text in only one of them. Raises
    UsageError naming the malformed field.
    """
    numbers: dict[object, int] = {}
    passages = _passages(answer, numbers)
    for hit in passages.values():
        if hit is None:
            raise UsageError(
                'a passage of the answer has no "text": keep the passages with their text'
            )
    citations = tuple(
        _citation(values, f"citations[{i}]", numbers)
        for i, values in enumerate(_list(answer, "citations"))
    )
    complete = tuple(hit for hit in passages.values() if hit is not None)
    return ParsedAnswer(
        text=_field(answer, "answer", str, "answer"),
        refused=_field(answer, "refused", bool, "refused", default=False),
        citations=citations,
        passages=complete,
        joined=tuple(_joined(complete)),
    )


def _joined(passages: Iterable[Hit]) -> Iterator[Hit]:
    """Join passages of a document that overlap or touch, and yield texts that no passage holds.

    Passages with different texts of the same span are not joined.
    """
    joined: Hit | None = None
    first: Hit | None = None
    for hit in sorted(passages, key=lambda hit: (hit.document, hit.start, -hit.end)):
        if joined is not None and hit.document == joined.document and hit.end <= joined.end:
            continue
        wider = None if joined is None else _wider(joined, hit)
        if wider is None and joined is not first and joined is not None:
            yield joined
        joined, first = (hit, hit) if wider is None else (wider, first)
    if joined is not first and joined is not None:
        yield joined


def _wider(joined: Hit, hit: Hit) -> Hit | None:
    """Extend a text by a passage that begins in it or at its end; None for any other passage."""
    shared = joined.end - hit.start
    if hit.document != joined.document or shared < 0:
        return None
    if joined.text[len(joined.text) - shared :] != hit.text[:shared]:
        return None
    return replace(joined, end=hit.end, text=joined.text + hit.text[shared:])


def _passages(
    answer: Mapping[str, Any], numbers: dict[object, int]
) -> dict[tuple[int, int, int], Hit | None]:
    passages: dict[tuple[int, int, int], Hit | None] = {}
    for name in ("used", "hits"):
        for i, values in enumerate(_list(answer, name)):
            where = f"{name}[{i}]"
            place = _place(values, where, numbers)
            hit = _hit(values, where, place) if "text" in values else None
            stored = passages.get(place)
            # Only "hits" have titles and headings, whose words an answer may use.
            passages[place] = hit if stored is None or (hit and hit.title) else stored
    return passages


def _hit(values: Mapping[str, Any], where: str, place: tuple[int, int, int]) -> Hit:
    text = _field(values, "text", str, f"{where}.text")
    document, start, end = place
    if len(text) != end - start:
        raise UsageError(
            f"{where} of the answer says {start}-{end}, but its text has {len(text)} characters: "
            "offsets count characters, not bytes, and the end is exclusive"
        )
    headings = tuple(str(heading) for heading in _list(values, "headings"))
    title = _field(values, "title", str, f"{where}.title", default="")
    return Hit(document, 0, "", title, None, start, end, text, 0.0, headings=headings)


def _citation(values: Any, where: str, numbers: dict[object, int]) -> Citation:
    document, start, end = _place(values, where, numbers)
    return Citation(
        n=_field(values, "n", int, f"{where}.n"),
        document=document,
        uri="",
        title="",
        page=None,
        start=start,
        end=end,
        quote=_field(values, "quote", str, f"{where}.quote"),
    )


def _place(values: Any, where: str, numbers: dict[object, int]) -> tuple[int, int, int]:
    """Return the document's number, by its id or else its URI, and the offsets."""
    if not isinstance(values, Mapping):
        raise UsageError(f"{where} of the answer is not a JSON object: keep it as it was printed")
    name = values.get("document", values.get("uri"))
    if not isinstance(name, int | str):
        raise UsageError(f'{where} of the answer names no document: give it "document" or "uri"')
    start, end = (_field(values, key, int, f"{where}.{key}") for key in ("start", "end"))
    return numbers.setdefault(name, len(numbers)), start, end


def _list(answer: Mapping[str, Any], name: str) -> list[Any]:
    entries: list[Any] = _field(answer, name, list, name, default=[])
    return entries


def _field(values: Mapping[str, Any], key: str, kind: type, where: str, default: Any = None) -> Any:
    if key not in values and default is None:
        raise UsageError(f'the answer has no "{where}": keep it as it was printed')
    value = values.get(key, default)
    # In Python a bool is an int.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{where} of the answer is {value!r:.80}, not {_KINDS[kind]}: correct it")
    return value
