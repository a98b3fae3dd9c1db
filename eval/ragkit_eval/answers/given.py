"""An answer as it comes from `--json` or a run file, made into values that can be checked.

It reads the shape and knows nothing of what makes an answer good.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragkit.errors import UsageError
from ragkit.types import Citation, Hit

_KINDS = {str: "a string", bool: "true or false", int: "a whole number", list: "a list"}


@dataclass(frozen=True, slots=True)
class Given:
    """An answer's text, its citations, and the passages that were retrieved for it.

    Documents are numbered anew, and a citation's verdict is none that anybody gave before.
    `joined` has each stretch of a document that several passages make up together, overlapping or
    end to end.
    """

    text: str
    refused: bool
    citations: tuple[Citation, ...]
    passages: tuple[Hit, ...]
    joined: tuple[Hit, ...] = ()


def read_given(answer: Mapping[str, Any]) -> Given:
    """Read the JSON that `ragkit ask --json` prints, with "hits" or "used" passages and their text.

    A passage is {"document" or "uri", "start", "end", "text"} and may have "title" and "headings".
    One that stands in both lists, at the same place, needs its text in one of them. Raises
    UsageError naming the field that is wrong.
    """
    numbers: dict[object, int] = {}
    passages = _passages(answer, numbers)
    for hit in passages.values():
        if hit is None:
            raise UsageError(
                'a passage of the answer has no "text": keep the passages with their text'
            )
    citations = tuple(
        _citation(found, f"citations[{i}]", numbers)
        for i, found in enumerate(_list(answer, "citations"))
    )
    given = tuple(hit for hit in passages.values() if hit is not None)
    return Given(
        text=_field(answer, "answer", str, "answer"),
        refused=_field(answer, "refused", bool, "refused", default=False),
        citations=citations,
        passages=given,
        joined=tuple(_joined(given)),
    )


def _joined(passages: Iterable[Hit]) -> Iterator[Hit]:
    """Join passages of a document that overlap or touch; what one of them already holds is none.

    Passages that say different things of the same place are not joined.
    """
    whole: Hit | None = None
    last: Hit | None = None
    for hit in sorted(passages, key=lambda hit: (hit.document, hit.start, -hit.end)):
        if whole is not None and hit.document == whole.document and hit.end <= whole.end:
            continue
        wider = None if whole is None else _wider(whole, hit)
        if wider is None and whole is not last and whole is not None:
            yield whole
        whole, last = (hit, hit) if wider is None else (wider, last)
    if whole is not last and whole is not None:
        yield whole


def _wider(whole: Hit, hit: Hit) -> Hit | None:
    """Lengthen a stretch by a passage that begins in it or at its end; None where it does not."""
    shared = whole.end - hit.start
    if hit.document != whole.document or shared < 0:
        return None
    if whole.text[len(whole.text) - shared :] != hit.text[:shared]:
        return None
    return replace(whole, end=hit.end, text=whole.text + hit.text[shared:])


def _passages(
    answer: Mapping[str, Any], numbers: dict[object, int]
) -> dict[tuple[int, int, int], Hit | None]:
    passages: dict[tuple[int, int, int], Hit | None] = {}
    for name in ("used", "hits"):
        for i, found in enumerate(_list(answer, name)):
            where = f"{name}[{i}]"
            place = _place(found, where, numbers)
            hit = _hit(found, where, place) if "text" in found else None
            known = passages.get(place)
            # Only "hits" have titles and headings, which an answer may well take a word from.
            passages[place] = hit if known is None or (hit and hit.title) else known
    return passages


def _hit(found: Mapping[str, Any], where: str, place: tuple[int, int, int]) -> Hit:
    text = _field(found, "text", str, f"{where}.text")
    document, start, end = place
    if len(text) != end - start:
        raise UsageError(
            f"{where} of the answer says {start}-{end}, but its text has {len(text)} characters: "
            "offsets count characters, not bytes, and the end is exclusive"
        )
    headings = tuple(str(heading) for heading in _list(found, "headings"))
    title = _field(found, "title", str, f"{where}.title", default="")
    return Hit(document, 0, "", title, None, start, end, text, 0.0, headings=headings)


def _citation(found: Any, where: str, numbers: dict[object, int]) -> Citation:
    document, start, end = _place(found, where, numbers)
    return Citation(
        n=_field(found, "n", int, f"{where}.n"),
        document=document,
        uri="",
        title="",
        page=None,
        start=start,
        end=end,
        quote=_field(found, "quote", str, f"{where}.quote"),
    )


def _place(found: Any, where: str, numbers: dict[object, int]) -> tuple[int, int, int]:
    """Return the number of the document, which is told by its id or else its URI, and offsets."""
    if not isinstance(found, Mapping):
        raise UsageError(f"{where} of the answer is no JSON object: keep it as it was printed")
    name = found.get("document", found.get("uri"))
    if not isinstance(name, int | str):
        raise UsageError(f'{where} of the answer names no document: give it "document" or "uri"')
    start, end = (_field(found, key, int, f"{where}.{key}") for key in ("start", "end"))
    return numbers.setdefault(name, len(numbers)), start, end


def _list(answer: Mapping[str, Any], name: str) -> list[Any]:
    found: list[Any] = _field(answer, name, list, name, default=[])
    return found


def _field(found: Mapping[str, Any], key: str, kind: type, where: str, default: Any = None) -> Any:
    if key not in found and default is None:
        raise UsageError(f'the answer has no "{where}": keep it as it was printed')
    value = found.get(key, default)
    # A bool is an int to Python, and to nobody else.
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UsageError(f"{where} of the answer is {value!r:.80}, not {_KINDS[kind]}: correct it")
    return value
