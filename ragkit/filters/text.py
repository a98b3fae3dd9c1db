"""Filters as people write them: language = "en" and year >= 2020 and not (title contains "draft").

A text is read into the tree that `ragkit.filters.tree.parse` takes, and a filter is written as
text.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from ragkit.errors import QueryError
from ragkit.filters.tree import Comparison, Every, Filter, Not, Some, Value

MAX_TEXT_CHARS: Final = 100_000  # arbitrary; a filter is written by people
MAX_NESTED: Final = 50  # parentheses and nots in each other; the tree's own limit is lower

_SIGNS: Final = {"=": "eq", "==": "eq", "!=": "ne", "<>": "ne"} | {
    "<": "lt",
    "<=": "lte",
    ">": "gt",
    ">=": "gte",
}
_WRITTEN: Final = {op: sign for sign, op in _SIGNS.items() if sign not in {"==", "<>"}}
_WORDS: Final = frozenset({"and", "or", "not", "in", "contains", "exists", "true", "false"})
_NAME: Final = re.compile(r"[^\W\d][\w.\-]*")
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(T[\d:]+Z?)?", re.ASCII)
_NUMBER: Final = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_SIGN: Final = re.compile(r"==|!=|<>|<=|>=|[=<>(),]")
_QUOTED: Final = re.compile(r"'((?:[^']|'')*)'")
_SPACE: Final = re.compile(r"\s*")
_JSON: Final = json.JSONDecoder(strict=False)  # a text may hold a line's end


def read(text: str) -> dict[str, Any]:
    """Read a filter's text into its tree; one that is JSON already is taken as it is.

    Raises QueryError, which names the place.

    >>> read("year >= 2020 and tag in ('a', 'b')")
    {'and': [{'gte': {'year': 2020}}, {'in': {'tag': ['a', 'b']}}]}
    """
    if len(text) > MAX_TEXT_CHARS:
        raise QueryError(f"the filter has {len(text):,} characters: write a shorter one")
    if text.lstrip().startswith("{"):
        return _json(text)
    return _Reading(text).expression()


def write(where: Filter) -> str:
    """Write a filter as a text that `read` reads.

    >>> write(Not(Comparison("in", "tag", ("a", 3))))
    'not tag in ("a", 3)'
    """
    if isinstance(where, Comparison):
        return _written(where)
    if isinstance(where, Not):
        return f"not {_inside(where.of)}"
    if not where.of:
        return "true" if isinstance(where, Every) else "false"
    word = " and " if isinstance(where, Every) else " or "
    if len(where.of) == 1:
        return write(where.of[0])
    return word.join(_inside(part) for part in where.of)


def _inside(where: Filter) -> str:
    """Write a part of a larger filter, in parentheses where it would come apart."""
    text = write(where)
    inner = where
    while isinstance(inner, Every | Some) and len(inner.of) == 1:
        inner = inner.of[0]
    return f"({text})" if isinstance(inner, Every | Some) and inner.of else text


def _written(where: Comparison) -> str:
    field = where.field
    if not _NAME.fullmatch(field) or field.lower() in _WORDS:
        field = _quoted(field)
    if where.op == "exists":
        return f"{field} exists" if where.wanted else f"{field} not exists"
    values = [_value_text(value) for value in where.values]
    if where.op == "in":
        return f"{field} in ({', '.join(values)})"
    return f"{field} {_WRITTEN.get(where.op, where.op)} {values[0]}"


def _value_text(value: Value) -> str:
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _json(text: str) -> dict[str, Any]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise QueryError(f"the filter begins like JSON and is none: {error}") from error
    assert isinstance(tree, dict), "it begins with a brace"
    return tree


class _Reading:
    """One text, read from left to right; `at` is where the next token begins."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._nested = 0
        self._skip()

    def expression(self) -> dict[str, Any]:
        if self._at == len(self._text):
            raise QueryError('the filter is empty: write one as language = "en"')
        tree = self._any()
        if self._at < len(self._text):
            raise self._wrong("expected 'and', 'or' or the end")
        return tree

    def _any(self) -> dict[str, Any]:
        parts = [self._every()]
        while self._take("or"):
            parts.append(self._every())
        return {"or": parts} if len(parts) > 1 else parts[0]

    def _every(self) -> dict[str, Any]:
        parts = [self._operand()]
        while self._take("and"):
            parts.append(self._operand())
        return {"and": parts} if len(parts) > 1 else parts[0]

    def _operand(self) -> dict[str, Any]:
        self._nested += 1
        if self._nested > MAX_NESTED:
            raise self._wrong("the filter is nested too deeply")
        try:
            if self._take("not"):
                return {"not": self._operand()}
            if self._take("("):
                tree = self._any()
                self._expect(")", "expected 'and', 'or' or ')'")
                return tree
            if self._take("true"):
                return {"and": []}
            return {"or": []} if self._take("false") else self._comparison()
        finally:
            self._nested -= 1

    def _comparison(self) -> dict[str, Any]:
        field = self._field()
        at = self._at
        negated = self._take("not")
        if self._take("exists"):
            return {"exists": {field: not negated}}
        if self._take("in"):
            tree: dict[str, Any] = {"in": {field: self._values()}}
        elif self._take("contains"):
            tree = {"contains": {field: self._value()}}
        else:
            sign = _SIGN.match(self._text, self._at)
            op = _SIGNS.get(sign[0]) if sign and not negated else None
            if sign is None or op is None:
                self._at = at
                raise self._wrong("expected =, !=, <, <=, >, >=, in, contains or exists")
            self._to(sign.end())
            tree = {op: {field: self._value()}}
        return {"not": tree} if negated else tree

    def _field(self) -> str:
        quoted = self._quoted()
        if quoted is not None:
            return quoted
        name = _NAME.match(self._text, self._at)
        if name is None or name[0].lower() in _WORDS:
            raise self._wrong("expected a field, or one in quotes")
        self._to(name.end())
        return name[0]

    def _values(self) -> list[Value]:
        self._expect("(", "expected a list, as in tag in ('a', 'b')")
        values: list[Value] = []
        while not self._take(")"):
            if values:
                self._expect(",", "expected ',' or ')'")
            values.append(self._value())
        return values

    def _value(self) -> Value:
        quoted = self._quoted()
        if quoted is not None:
            return quoted
        for word in ("true", "false"):
            if self._take(word):
                return word
        for kind in (_DATE, _NUMBER):
            match = kind.match(self._text, self._at)
            if match and not self._text[match.end() : match.end() + 1].isalnum():
                self._to(match.end())
                return match[0] if kind is _DATE else _number(match[0])
        raise self._wrong("expected a number, a date, or a text in quotes")

    def _quoted(self) -> str | None:
        """Take a text in quotes: double ones as in JSON, single ones doubled within."""
        begin = self._text[self._at : self._at + 1]
        if begin == '"':
            try:
                value, end = _JSON.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                raise self._wrong(f"the text in quotes cannot be read ({error.msg})") from error
            self._to(end)
            return str(value)
        if begin != "'":
            return None
        match = _QUOTED.match(self._text, self._at)
        if match is None:
            raise self._wrong("the text in quotes has no end")
        self._to(match.end())
        return match[1].replace("''", "'")

    def _take(self, token: str) -> bool:
        """Go past a word or a sign, if it is the next one."""
        kind = _NAME if token.isalpha() else _SIGN
        match = kind.match(self._text, self._at)
        if match is None or match[0].lower() != token:
            return False
        self._to(match.end())
        return True

    def _expect(self, token: str, problem: str) -> None:
        if not self._take(token):
            raise self._wrong(problem)

    def _to(self, at: int) -> None:
        self._at = at
        self._skip()

    def _skip(self) -> None:
        space = _SPACE.match(self._text, self._at)
        assert space is not None, "no space matches too"
        self._at = space.end()

    def _wrong(self, problem: str) -> QueryError:
        remainder = self._text[self._at : self._at + 30]
        place = (
            f"at its end, after {self._text[-30:].rstrip()!r}"
            if not remainder
            else f"at {remainder!r}"
        )
        return QueryError(f"the filter, character {self._at + 1}, {place}: {problem}")


def _number(text: str) -> int | float:
    if re.fullmatch(r"-?\d+", text):
        return int(text) if len(text) <= 100 else float("inf")  # refused like any that large
    return float(text)
