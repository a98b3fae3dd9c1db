"""Plan a search for a question: other wordings, a likely passage, an inferred filter.

A language model does it where there is one. A part that fails is left out and noted: the question
itself is always searched for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Final, Literal

from ragkit.errors import ModelError, ModelServerError, QueryError
from ragkit.filters.tree import Filter, parse
from ragkit.prompts.ask_model import ask_model
from ragkit.prompts.messages import neutralise, prompt_language
from ragkit.prompts.templates import Templates
from ragkit.question import model_filter
from ragkit.question.inferred_filter import Tree, infer_filter
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
            reply = self._ask(self._model, name, question, count=VARIANTS)
        except ModelError as error:
            notes["queries"] = f"as asked: {error}"
            return (), ""
        if self._queries == "hyde":
            notes["passage"] = passage = reply[:MAX_PASSAGE_CHARS]
            return (), passage
        variants = _variants(reply, question)
        notes["queries"] = " | ".join(variants) or "as asked: the model gave no other wording"
        return variants, ""

    def _where(self, question: str, notes: dict[str, float | str]) -> Filter | None:
        if self._fields is None:
            return None
        fields = self._fields()
        tree: Tree | None
        if self._model is None:
            tree = infer_filter(question, fields)
        else:
            try:
                tree = self._ask_for_filter(self._model, question, fields)
            except (ModelError, QueryError) as error:
                notes["filter by rules"] = str(error)
                tree = infer_filter(question, fields)
        if tree is None:
            return None
        notes["filter"] = json.dumps(tree, ensure_ascii=False)
        return parse(tree)

    def _ask_for_filter(self, model: LanguageModel, question: str, fields: Fields) -> Tree | None:
        fields_shown = [
            {word: neutralise(text) for word, text in field.items()}
            for field in model_filter.describe_fields(fields)
        ]
        values: dict[str, Any] = {"fields": fields_shown, "today": date.today().isoformat()}
        try:
            schema = model_filter.conditions_schema(fields)
            reply = self._ask(model, "filters", question, json_schema=schema, **values)
        except ModelServerError:
            raise
        except ModelError:  # a model in this process takes no schema
            reply = self._ask(model, "filters", question, **values)
        tree = model_filter.read_conditions(reply, fields)
        if tree is not None:
            parse(tree)  # what the collection cannot compare is no filter
        return tree

    def _ask(
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
        return ask_model(
            model, prompt, max_tokens=MAX_TOKENS, timeout_s=TIMEOUT_S, json_schema=json_schema
        )


def _variants(reply: str, question: str) -> tuple[str, ...]:
    """Read one wording from each line; leave out what is none, and what was asked already."""
    wordings = {question.strip().casefold()}
    variants: list[str] = []
    for line in reply.splitlines():
        bullet = _BULLET.match(line)
        text = line[bullet.end() :] if bullet else line
        quoted = _QUOTED.fullmatch(text.strip())
        text = (quoted[1] if quoted else text).strip()
        fits = len(text) <= max(MAX_CHARS, 2 * len(question)) and analyse(text)
        if fits and not text.endswith((":", "：")) and text.casefold() not in wordings:
            wordings.add(text.casefold())
            variants.append(text)
    return tuple(variants[:VARIANTS])
