"""From a question to what is searched for: other wordings, a likely passage, a filter it implies.

A language model does it where there is one. What fails is left out and said in the notes: a
question is always searched for as it was asked. It knows nothing of how the search works.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.answer.prompt import neutralise, prompt_language
from ragkit.answer.templates import Templates
from ragkit.conversation.telling import tell
from ragkit.errors import ModelError, ModelServerError, QueryError
from ragkit.filters import METADATA, Filter, parse
from ragkit.retrieve.infer import Tree, inferred, is_dated, when
from ragkit.text.analyse import analyse
from ragkit.types import Query

if TYPE_CHECKING:
    from ragkit.contracts import LanguageModel
    from ragkit.types import Fields

Queries = Literal["one", "multi", "hyde"]

VARIANTS: Final = 3  # as LangChain's MultiQueryRetriever has it; each costs a search
MAX_TOKENS: Final = 1024  # a few lines; the rest is for a thinking model
TIMEOUT_S: Final = 30.0  # arbitrary; the user waits for it
MAX_CHARS: Final = 300  # of a wording, or twice the question's length: longer is no question
MAX_PASSAGE_CHARS: Final = 4000  # more than embedding models read
MAX_CONDITIONS: Final = 4
MAX_VALUES: Final = 20  # shown of a field, and allowed by name
MAX_VALUE_CHARS: Final = 80

_BULLET = re.compile(r"\s*(?:[-*•]|\(?\d{1,2}[.)、：:])\s*")
_QUOTED = re.compile(r"[\"“「'](.+)[\"”」']")


class Planner:
    """Make a query of a question.

    `queries`: "multi" adds other wordings, "hyde" a hypothetical passage that is embedded in the
    question's place (Gao et al. 2022, https://arxiv.org/abs/2212.10496); both need a `model`.
    `fields` tells what the collection's documents have, and switches inferred filters on; without
    a model they are inferred by rules.
    """

    def __init__(
        self,
        *,
        queries: Queries = "one",
        model: LanguageModel | None = None,
        templates: Templates | None = None,
        fields: Callable[[], Fields] | None = None,
    ) -> None:
        self._queries = queries
        self._model = model
        self._templates = templates or Templates()
        self._fields = fields

    def __call__(self, question: str) -> Query:
        """Plan a question. Raises SettingsError for a template that cannot be used."""
        notes: dict[str, float | str] = {}
        variants, passage = self._wordings(question, notes)
        where = self._where(question, notes)
        return Query(question, variants, passage, where, notes)

    def _wordings(
        self, question: str, notes: dict[str, float | str]
    ) -> tuple[tuple[str, ...], str]:
        if self._queries == "one":
            return (), ""
        if self._model is None:
            notes["queries"] = "as asked: there is no language model"
            return (), ""
        name = "queries" if self._queries == "multi" else "passage"
        try:
            said = self._told(self._model, name, question, count=VARIANTS)
        except ModelError as error:
            notes["queries"] = f"as asked: {error}"
            return (), ""
        if self._queries == "hyde":
            notes["passage"] = passage = said[:MAX_PASSAGE_CHARS]
            return (), passage
        variants = _variants(said, question)
        notes["queries"] = " | ".join(variants) or "as asked: the model gave no other wording"
        return variants, ""

    def _where(self, question: str, notes: dict[str, float | str]) -> Filter | None:
        if self._fields is None:
            return None
        fields = self._fields()
        tree: Tree | None
        if self._model is None:
            tree = inferred(question, fields)
        else:
            try:
                tree = self._asked(self._model, question, fields)
            except (ModelError, QueryError) as error:
                notes["filter by rules"] = str(error)
                tree = inferred(question, fields)
        if tree is None:
            return None
        notes["filter"] = json.dumps(tree, ensure_ascii=False)
        return parse(tree)

    def _asked(self, model: LanguageModel, question: str, fields: Fields) -> Tree | None:
        allowed = _allowed(fields)
        shown = [_shown(name, values, fields) for name, values in allowed.items()]
        asked: dict[str, Any] = {"fields": shown, "today": date.today().isoformat()}
        try:
            schema = _schema(allowed, fields)
            said = self._told(model, "filters", question, json_schema=schema, **asked)
        except ModelServerError:
            raise
        except ModelError:  # a model in this process takes no schema
            said = self._told(model, "filters", question, **asked)
        tree = _tree(said, allowed, fields.keys)
        if tree is not None:
            parse(tree)  # what the collection cannot compare is no filter
        return tree

    def _told(
        self,
        model: LanguageModel,
        template: str,
        question: str,
        *,
        json_schema: Mapping[str, Any] | None = None,
        **values: object,
    ) -> str:
        prompt = self._templates.render(
            template, prompt_language(question), question=neutralise(question), **values
        )
        return tell(
            model, prompt, max_tokens=MAX_TOKENS, timeout_s=TIMEOUT_S, json_schema=json_schema
        )


def _variants(said: str, question: str) -> tuple[str, ...]:
    """Read one wording from each line; leave out what is none, and what was asked already."""
    known = {question.strip().casefold()}
    variants: list[str] = []
    for line in said.splitlines():
        text = _BULLET.sub("", line, count=1) if _BULLET.match(line) else line
        quoted = _QUOTED.fullmatch(text.strip())
        text = (quoted[1] if quoted else text).strip()
        fits = len(text) <= max(MAX_CHARS, 2 * len(question)) and analyse(text)
        if fits and not text.endswith((":", "：")) and text.casefold() not in known:
            known.add(text.casefold())
            variants.append(text)
    return tuple(variants[:VARIANTS])


def _allowed(fields: Fields) -> dict[str, Sequence[str] | None]:
    """Map each field that a model may compare to the values there are; None: any text."""
    allowed: dict[str, Sequence[str] | None] = {"title": None, "uri": None}
    for name, there in (("language", fields.languages), ("media_type", fields.media_types)):
        if len(there) > 1:  # one that all documents have says nothing
            allowed[name] = there[:MAX_VALUES]
    for key, declared in fields.keys.items():
        values = fields.values.get(key, ())
        if is_dated(key, declared):
            allowed[METADATA + key] = None
        elif values:
            allowed[METADATA + key] = values[:MAX_VALUES] if len(values) <= MAX_VALUES else None
    return allowed


def _shown(name: str, values: Sequence[str] | None, fields: Fields) -> dict[str, str]:
    """Name a field in the prompt; its values come from documents."""
    listed = ", ".join(value[:MAX_VALUE_CHARS] for value in values or ())
    operators = ", ".join(_operators(name, fields))
    years = ": YYYY" if operators == "eq, gte, lte" else ""
    return {
        "name": neutralise(name),
        "known": neutralise(listed),
        "operators": operators + years,
    }


def _operators(name: str, fields: Fields) -> list[str]:
    if name in {"title", "uri"}:
        return ["contains"]
    key = name.removeprefix(METADATA)
    return ["eq", "gte", "lte"] if key != name and is_dated(key, fields.keys[key]) else ["eq"]


def _schema(allowed: Mapping[str, Sequence[str] | None], fields: Fields) -> dict[str, Any]:
    """Bind a model to the fields that there are and, where they are few, to their values."""
    kinds = [
        {
            "type": "object",
            "properties": {
                "field": {"const": name},
                "op": {"enum": _operators(name, fields)},
                "value": {"enum": list(values)} if values else {"type": "string"},
            },
            "required": ["field", "op", "value"],
            "additionalProperties": False,
        }
        for name, values in allowed.items()
    ]
    conditions = {"type": "array", "maxItems": MAX_CONDITIONS, "items": {"anyOf": kinds}}
    return {
        "type": "object",
        "properties": {"conditions": conditions},
        "required": ["conditions"],
        "additionalProperties": False,
    }


def _tree(
    said: str, allowed: Mapping[str, Sequence[str] | None], keys: Mapping[str, str | None]
) -> Tree | None:
    """Read a model's conditions, whether or not a schema bound it. Raises QueryError."""
    found = re.search(r"\{.*\}", said, re.DOTALL)
    try:
        conditions = json.loads(found[0])["conditions"] if found else None
    except (ValueError, KeyError, TypeError):
        conditions = None
    if not isinstance(conditions, list):
        raise QueryError(f"the model's filter is none: {said[:60]!r}")
    parts = [part for one in conditions[:MAX_CONDITIONS] for part in _read(one, allowed, keys)]
    return {"and": parts} if len(parts) > 1 else parts[0] if parts else None


def _read(
    condition: object, allowed: Mapping[str, Sequence[str] | None], keys: Mapping[str, str | None]
) -> list[Tree]:
    if not isinstance(condition, dict):
        raise QueryError(f"the model's condition is none: {str(condition)[:60]!r}")
    name, op, value = str(condition.get("field")), condition.get("op"), condition.get("value")
    if name not in allowed or not isinstance(value, str | int) or not str(value).strip():
        raise QueryError(f"the model's condition compares what is not there: {name[:60]!r}")
    value, key = str(value).strip(), name.removeprefix(METADATA)
    if name in {"title", "uri"}:
        return [{"contains": {name: value}}]
    if key != name and is_dated(key, keys.get(key)):
        year = re.match(r"(?:19|20)\d\d", value)
        if year is None or op not in {"eq", "gte", "lte"}:
            raise QueryError(f"the model's condition has no year: {value!r}")
        first = int(year[0]) if op in {"eq", "gte"} else None
        last = int(year[0]) if op in {"eq", "lte"} else None
        return when(key, keys.get(key), first, last)
    values = allowed[name]
    if values is not None and value not in values:
        raise QueryError(f"the model's condition names a value that is not there: {value[:60]!r}")
    return [{"eq": {name: value}}]
