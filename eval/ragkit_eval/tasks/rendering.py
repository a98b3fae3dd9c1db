"""Turn a row into an item: fields by expressions, the prompt by templates."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ragkit.errors import UsageError
from ragkit_eval.run.item import Item
from ragkit_eval.tasks.extract import is_number
from ragkit_eval.tasks.refusal_phrases import EXPECTED
from ragkit_eval.tasks.rows import Row
from ragkit_eval.tasks.spec import Spec
from ragkit_eval.tasks.template import compile_expression, compile_template, evaluated

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_ID_DIGITS = 12


class Draft(NamedTuple):
    """A row's fields, without its prompt. `values` has the columns too."""

    id: str
    group: str
    values: Mapping[str, Any]
    where: str


class Renderer:
    """A declaration's expressions and templates, compiled."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        named = spec.fields
        expressions = {
            "question": named.question,
            "target": named.target,
            "id": named.id,
            "options": named.options,
            "labels": named.labels,
            "group": named.group,
            "cluster": named.cluster,
            "keep": named.keep,
            "turns": named.turns,
            "each": spec.data.each,
        }
        self._fields = {
            name: compile_expression(text, f"{spec.name}: {_table(name)}.{name}")
            for name, text in expressions.items()
            if text
        }
        self._extra = {
            name: compile_expression(text, f"{spec.name}: fields.extra.{name}")
            for name, text in named.extra.items()
        }
        prompt = spec.prompt
        self._head = compile_template(prompt.head, f"{spec.name}: prompt.head")
        self._question = compile_template(prompt.question, f"{spec.name}: prompt.question")
        self._answer = compile_template(prompt.answer, f"{spec.name}: prompt.answer")
        self._choice = compile_template(prompt.choice, f"{spec.name}: prompt.choice")

    def head(self, group: str) -> str:
        """Return the beginning of every prompt of a group."""
        return str(evaluated(self._head, self._named(group), f"{self._spec.name}: prompt.head"))

    def shot(self, row: Row, group: str) -> str:
        """Return an example with its answer, to precede the question."""
        values = self._values(row, group)
        question = evaluated(self._question, values, row.where)
        return str(question) + str(evaluated(self._answer, values, row.where))

    def split(self, row: Row) -> Iterator[Row]:
        """Yield a row for each of its questions, as `entry` at `place`; the row itself if one."""
        if "each" not in self._fields:
            yield row
            return
        entries = self._field("each", self._columns(row, ""), row.where, ())
        if not isinstance(entries, list):
            raise UsageError(f"{row.where}: data.each gives {entries!r:.60}: expected a list")
        for place, entry in enumerate(entries):
            where = f"{row.where}, question {place + 1}"
            yield Row({**row.values, "entry": entry, "place": place}, where)

    def keeps(self, row: Row, group: str) -> bool:
        """Return whether a row is an item of this task."""
        if "keep" not in self._fields:
            return True
        return bool(self._field("keep", self._columns(row, group), row.where, True))

    def draft(self, row: Row, group: str) -> Draft:
        """Read a row's fields, without its prompt. Raises UsageError with the row's place."""
        values = self._values(row, group)
        self._check(values, row.where)
        return Draft(self._id(values, row), values["group"], values, row.where)

    def item(self, draft: Draft, prefix: str) -> Item:
        """Build the item of a row. Raises UsageError with the row's place."""
        values, where = draft.values, draft.where
        extra = {name: evaluated(call, values, where) for name, call in self._extra.items()}
        return Item(
            id=draft.id,
            prompt=prefix + str(evaluated(self._question, values, where)),
            targets=values["targets"],
            labels=values["labels"],
            choices=self._choices(values, where),
            question=_question_text(values["question"], values["labels"], values["options"]),
            group=draft.group,
            cluster=_name(self._field("cluster", values, where, "")),
            extra=extra,
            turns=self._turns(values, where),
        )

    def _values(self, row: Row, group: str) -> dict[str, Any]:
        """Return the row's columns and the fields, for templates."""
        values, where = self._columns(row, group), row.where
        if "group" in self._fields:
            values |= self._named(_name(self._field("group", values, where, "")))
        question = _text(self._field("question", values, where, ""), "question", where)
        options = self._field("options", values, where, None)
        options = _list(options, "options", where) if options is not None else ()
        labels = self._field("labels", values, where, None)
        labels = (
            _list(labels, "labels", where)
            if labels is not None
            else tuple(_LETTERS[: len(options)])
        )
        if len(labels) != len(options):
            raise UsageError(f"{where}: {len(options)} options and {len(labels)} labels")
        if "" in labels or len(set(labels)) < len(labels):
            raise UsageError(
                f"{where}: the labels {', '.join(labels)} are not distinct: give each its own"
            )
        # The expression of the target can use the other fields.
        values |= {"question": question, "options": options, "labels": labels}
        targets = _texts(self._field("target", values, where, None), "target", where)
        for target in targets:
            if options and target not in labels:
                raise UsageError(
                    f"{where}: the answer {target!r} is not one of {', '.join(labels)}: correct it"
                )
        return values | {"targets": targets, "target": ", ".join(targets)}

    def _check(self, values: Mapping[str, Any], where: str) -> None:
        """Refuse a row that the scorer would count as wrong for every answer."""
        scorer, targets = self._spec.scorer, values["targets"]
        if scorer == "choice" and not values["labels"]:
            raise UsageError(f"{where}: there is no option to choose: leave the row out")
        # AGIEval has questions without a right label, which count as in its own scorer.
        if not targets and scorer not in ("label-set", "program", "judged"):
            raise UsageError(f"{where}: there is no right answer: give one, or leave the row out")
        for target in targets:
            if scorer == "number" and not is_number(target):
                raise UsageError(f"{where}: the answer {target!r:.60} is not a number: correct it")
            if scorer == "refusal" and target not in EXPECTED:
                raise UsageError(
                    f"{where}: {target!r:.60} is not one of {', '.join(EXPECTED)}: correct it"
                )

    def _columns(self, row: Row, group: str) -> dict[str, Any]:
        columns = {name: value for name, value in row.values.items() if name.isidentifier()}
        return {**self._named(group), **columns, "row": row.values}

    def _named(self, group: str) -> dict[str, Any]:
        return {"group": group, "group_name": self._spec.names.get(group, group)}

    def _field(self, name: str, values: Mapping[str, Any], where: str, missing: Any) -> Any:
        call = self._fields.get(name)
        return missing if call is None else evaluated(call, values, where)

    def _choices(self, values: Mapping[str, Any], where: str) -> tuple[str, ...]:
        if self._spec.method != "loglikelihood":
            return ()
        return tuple(
            str(evaluated(self._choice, {**values, "label": label, "option": option}, where))
            for label, option in zip(values["labels"], values["options"], strict=True)
        )

    def _turns(self, values: Mapping[str, Any], where: str) -> tuple[str, ...]:
        turns = self._field("turns", values, where, [])
        return _list(turns, "turns", where)

    def _id(self, values: Mapping[str, Any], row: Row) -> str:
        group = values["group"]
        name = self._field("id", values, row.where, None)
        if name is None:
            # By content, not position: reordering the data does not change a question's id.
            content = [dict(row.values), values["question"], values["options"]]
            text = json.dumps(content, ensure_ascii=False, sort_keys=True, default=str)
            name = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
        elif name == "":
            raise UsageError(f"{row.where}: the id is empty: give each row an id of its own")
        return f"{group}/{name}" if group else str(name)


def _question_text(question: str, labels: tuple[str, ...], options: tuple[str, ...]) -> str:
    lines = [question.strip()]
    for label, option in zip(labels, options, strict=True):
        lettered = re.match(rf"\s*[(（]?{re.escape(label)}\b", option)
        lines.append(option if lettered else f"{label}. {option}")
    return "\n".join(lines)


def _table(name: str) -> str:
    return "data" if name == "each" else "fields"


def _name(value: Any) -> str:
    """Return a name as text; null, which many rows may have, is ""."""
    return "" if value is None else str(value)


def _text(value: Any, field: str, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: {field} is {value!r:.60}: expected a text")
    return value


def _list(value: Any, field: str, where: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise UsageError(f"{where}: {field} is {value!r:.60}: expected a list")
    return _texts(value, field, where)


def _texts(value: Any, field: str, where: str) -> tuple[str, ...]:
    """Return a text or a number as a tuple of one text, a list as a tuple of its texts."""
    if isinstance(value, list | tuple):
        return tuple(_entry_text(entry, field, where) for entry in value)
    return (_entry_text(value, field, where),)


def _entry_text(value: Any, field: str, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{where}: {field} is {value!r:.60}: expected a text")
