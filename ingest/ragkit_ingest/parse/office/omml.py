"""Office's equations as one line of text: a fraction is (a)/(b), a power x^2, an index x_0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragkit_ingest.parse.office.archive import attribute, child, local

if TYPE_CHECKING:
    from lxml.etree import _Element as Element


def linear(element: Element | None) -> str:
    """Write an equation, or a part of one, as text.

    Deep nesting is bounded by the XML parser, which refuses more than 256 levels.
    """
    if element is None:
        return ""
    name = local(element)
    if name == "t":
        return element.text or ""
    writer = _WRITERS.get(name)
    if writer:
        return writer(element)
    return "" if name.endswith("Pr") else "".join(linear(item) for item in element)


def _part(element: Element, name: str) -> str:
    return linear(child(element, name)).strip()


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.isalnum() else f"({text})"


def _fraction(element: Element) -> str:
    return f"{_grouped(_part(element, 'num'))}/{_grouped(_part(element, 'den'))}"


def _script(element: Element) -> str:
    low, high = _part(element, "sub"), _part(element, "sup")
    base = _part(element, "e")
    return base + (f"_{_grouped(low)}" if low else "") + (f"^{_grouped(high)}" if high else "")


def _nary(element: Element) -> str:
    sign = attribute(child(element, "naryPr", "chr"), "val") or "∫"
    low, high = _part(element, "sub"), _part(element, "sup")
    limits = (f"_{_grouped(low)}" if low else "") + (f"^{_grouped(high)}" if high else "")
    return f"{sign}{limits} {_part(element, 'e')}"


def _root(element: Element) -> str:
    degree = _part(element, "deg")
    return f"√{f'[{degree}]' if degree else ''}({_part(element, 'e')})"


def _delimited(element: Element) -> str:
    marks = child(element, "dPr")
    begin, between, end = (
        value if (value := attribute(child(marks, name), "val")) is not None else default
        for name, default in (("begChr", "("), ("sepChr", "|"), ("endChr", ")"))
    )
    return begin + between.join(linear(item) for item in element if local(item) == "e") + end


def _matrix(element: Element) -> str:
    rows = [" ".join(linear(cell) for cell in row) for row in element if local(row) == "mr"]
    return "; ".join(rows)


def _function(element: Element) -> str:
    name, argument = _part(element, "fName"), _part(element, "e")
    return f"{name}{'' if argument.startswith('(') else ' '}{argument}"


def _limit(element: Element) -> str:
    return f"{_part(element, 'e')}_{_grouped(_part(element, 'lim'))}"


_WRITERS = {
    "f": _fraction,
    "sSup": _script,
    "sSub": _script,
    "sSubSup": _script,
    "nary": _nary,
    "rad": _root,
    "d": _delimited,
    "m": _matrix,
    "func": _function,
    "limLow": _limit,
    "limUpp": _limit,
}
