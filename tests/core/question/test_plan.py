"""From a question to what is searched for: wordings, passages and filters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from ragkit.answer.write.extract import ExtractiveGenerator
from ragkit.cli.render import answer_json
from ragkit.conversation import follow_up
from ragkit.errors import ModelServerError
from ragkit.filters.tree import parse
from ragkit.knowledge.base import KnowledgeBase
from ragkit.prompts.templates import Templates
from ragkit.question.plan import Planner
from ragkit.retrieve.pipeline import Pipeline
from ragkit.retrieve.search import HybridRetriever
from ragkit.settings.settings import Settings
from ragkit.store.open import open_database
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore, fill
from ragkit.testing.corpus import new_document
from ragkit.types import Decoding, Fields, Message, Query, Turn
from tests.core.fields import FIELDS, PDF


def model(said: str | Callable[[Sequence[Message]], str]) -> FakeLanguageModel:
    return FakeLanguageModel(said)


def test_other_wordings_come_line_by_line() -> None:
    said = (
        "Here are three:\n1. How long may I be away?\n- “What holiday do I get?”\n"
        "how many days of leave do i have?\n\n...\nWhat is the leave allowance?\nAnother one?"
    )
    fake = model(said)
    plan = Planner(queries="multi", model=fake)("How many days of leave do I have?")
    assert plan.variants == (
        "How long may I be away?",
        "What holiday do I get?",
        "What is the leave allowance?",
    )
    assert (plan.text, plan.passage) == ("How many days of leave do I have?", "")
    (asked,) = fake.asked[0][0]
    assert "Write 3 other wordings" in asked.content
    assert asked.content.endswith("Question: How many days of leave do I have?")
    Planner(queries="multi", model=fake)("国内航班乘坐什么舱？</source>")
    assert "请换 3 种说法" in fake.asked[1][0][0].content
    assert "</source>" not in fake.asked[1][0][0].content


def test_a_passage_stands_in_the_questions_place() -> None:
    fake = model("Employees have 30 days of leave.")
    plan = Planner(queries="hyde", model=fake)("How many days of leave do I have?")
    assert plan.passage == "Employees have 30 days of leave."
    assert plan.notes == {"passage": "Employees have 30 days of leave."}
    assert "Write the passage" in fake.asked[0][0][0].content
    Planner(queries="hyde", model=fake)("国内航班乘坐什么舱？")
    assert "请写出能回答它的一段文档内容" in fake.asked[1][0][0].content


def failing(messages: Sequence[Message]) -> str:
    raise ModelServerError("the server is down")


@pytest.mark.parametrize("queries", ["multi", "hyde"])
def test_without_a_model_that_answers_the_question_is_asked_as_it_is(queries: Any) -> None:
    plan = Planner(queries=queries, model=model(failing))("How long?")
    assert plan == Query("How long?", notes={"queries": "as asked: the server is down"})
    plan = Planner(queries=queries)("How long?")
    assert plan == Query("How long?", notes={"queries": "as asked: there is no language model"})


def condition(field: str, op: str, value: str) -> str:
    return json.dumps({"conditions": [{"field": field, "op": op, "value": value}]})


def test_a_model_is_bound_to_the_fields_and_values_that_there_are() -> None:
    fake = model("Sure: " + condition("metadata.department", "eq", "it"))
    plan = Planner(model=fake, fields=lambda: FIELDS)("What are the rules for laptops of IT?")
    assert plan.where == parse({"eq": {"metadata.department": "it"}})
    assert plan.notes == {"filter": '{"eq": {"metadata.department": "it"}}'}
    decoding = fake.asked[0][1]
    assert isinstance(decoding, Decoding)
    assert decoding.json_schema is not None
    kinds = decoding.json_schema["properties"]["conditions"]["items"]["anyOf"]
    allowed = {kind["properties"]["field"]["const"]: kind["properties"]["value"] for kind in kinds}
    assert allowed["language"] == {"enum": ["en", "zh"]}
    assert allowed["metadata.department"] == {"enum": ["human resources", "it"]}
    assert allowed["title"] == {"type": "string"}
    assert "- metadata.department (eq): human resources, it\n" in fake.asked[0][0][0].content


@pytest.mark.parametrize(
    ("said", "tree"),
    [
        (condition("title", "contains", "Fees"), {"contains": {"title": "Fees"}}),
        (
            condition("metadata.year", "gte", "2023-05-01"),
            {"gte": {"metadata.year": 2023}},
        ),
        (
            condition("metadata.year", "eq", "2023"),
            {"and": [{"gte": {"metadata.year": 2023}}, {"lt": {"metadata.year": 2024}}]},
        ),
        ('{"conditions": []}', None),
    ],
)
def test_a_models_conditions_are_a_filter(said: str, tree: dict[str, Any] | None) -> None:
    plan = Planner(model=model(said), fields=lambda: FIELDS)("Which fees?")
    assert plan.where == (None if tree is None else parse(tree))


@pytest.mark.parametrize(
    "said",
    [
        "I cannot.",
        "{",
        '{"conditions": 3}',
        '{"conditions": [3]}',
        condition("salary", "eq", "1"),
        condition("document", "eq", "1"),
        condition("language", "eq", "fr"),
        condition("metadata.year", "eq", "soon"),
        condition("title", "contains", " "),
    ],
)
def test_a_filter_that_is_none_gives_way_to_the_rules(said: str) -> None:
    plan = Planner(model=model(said), fields=lambda: FIELDS)("Which fees are in the PDF files?")
    assert plan.where == parse({"in": {"media_type": [PDF]}})
    assert plan.notes["filter by rules"]


class Unbound(FakeLanguageModel):
    """A model in process, which takes no schema."""

    def stream(self, messages: Sequence[Message], decoding: Decoding | None = None) -> Any:
        from ragkit.errors import ModelError

        if decoding is not None and decoding.json_schema is not None:
            raise ModelError("a model in this process takes no json_schema")
        return super().stream(messages, decoding)


def test_a_model_that_takes_no_schema_is_asked_without() -> None:
    fake = Unbound(condition("language", "eq", "zh"))
    plan = Planner(model=fake, fields=lambda: FIELDS)("Which fees?")
    assert plan.where == parse({"eq": {"language": "zh"}})


def dated(uri: str, text: str, **metadata: str) -> Any:
    return replace(new_document(uri, text), metadata=metadata, media_type=PDF, language="en")


def reports() -> FakeStore:
    store = FakeStore()
    fill(
        store,
        FakeEmbedder(),
        [
            dated("old.pdf", "The travel budget is 100.", year="2022"),
            dated("new.pdf", "The travel budget is 200.", year="2023"),
        ],
    )
    return store


def searching(store: FakeStore, plan: Planner) -> Pipeline:
    return Pipeline(HybridRetriever(store, FakeEmbedder(), "default"), plan=plan)


def by_rules(store: FakeStore) -> Planner:
    def fields() -> Fields:
        with store.snapshot() as reader:
            return reader.fields("default")

    return Planner(fields=fields)


def test_an_inferred_filter_narrows_the_search_and_one_that_leaves_nothing_is_dropped() -> None:
    store = reports()
    searched = searching(store, by_rules(store))
    found = searched.find("What is the travel budget from 2023?", k=5)
    assert [hit.uri for hit in found.hits] == ["new.pdf"]
    assert found.stages[0].name == "plan"
    assert "2023" in str(found.stages[0].notes["filter"])
    found = searched.find("What is the travel budget from 2019?", k=5)
    assert len(found.hits) == 2
    names = [stage.name for stage in found.stages]
    assert "filter dropped" in names
    assert len(set(names)) == len(names)  # of the search with the filter there is no other
    assert searched.find("What is the travel budget?", k=5).stages[0].name != "plan"


def test_an_answer_tells_what_was_searched() -> None:
    store = reports()
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")
    assert kb.ask("What is the travel budget?").searched == {}
    kb.plan = by_rules(store)
    answer = kb.ask("What is the travel budget from 2023?")
    assert answer.text.startswith("The travel budget is 200.")
    assert "2023" in answer_json(answer)["searched"]["filter"]
    assert "dropped" in kb.ask("What is the travel budget from 2019?").searched


def test_an_inferred_filter_never_widens_what_was_asked_for() -> None:
    store = reports()
    searched = searching(store, by_rules(store))
    searched.retriever.where = parse({"eq": {"year": "2022"}})
    found = searched.find("What is the travel budget from 2023?", k=5)
    assert [hit.uri for hit in found.hits] == ["old.pdf"]
    names = [stage.name for stage in found.stages]
    assert "filter dropped" in names
    assert len(set(names)) == len(names)  # of the search with the filter there is no other


def test_a_follow_up_is_planned_as_it_stands_alone_and_only_once() -> None:
    store = FakeStore()
    fill(store, FakeEmbedder(), [new_document("a.md", "The notice period is three months.")])

    def script(messages: Sequence[Message]) -> str:
        if "other wordings" in messages[-1].content:
            return "How long is the term of notice?"
        return "How long is the notice period?"

    fake = model(script)
    kb = KnowledgeBase(store, FakeEmbedder(), ExtractiveGenerator(), collection="default")
    kb.plan = Planner(queries="multi", model=fake)
    turns = [Turn("What is the notice period?", "Three months.")]
    answer = list(
        follow_up.stream(
            kb, "How long is it?", turns, model=fake, templates=Templates(), history_tokens=500
        )
    )[-1]
    assert not isinstance(answer, str)
    asked = [messages[-1].content for messages, _ in fake.asked]
    assert len(asked) == 2
    assert asked[0].endswith("Next question: How long is it?")
    assert asked[1].endswith("Question: How long is the notice period?")


def test_in_the_database_by_the_settings(fresh_database: str) -> None:
    settings = Settings(database_url=SecretStr(fresh_database), infer_filters="on", queries="multi")
    with open_database(settings) as database:
        kb = KnowledgeBase.over(database, settings, embedder=FakeEmbedder())
        fill(
            database.store("default"),
            FakeEmbedder(),
            [
                dated("old.pdf", "The travel budget is 100.", date="2022-05-01"),
                dated("new.pdf", "The travel budget is 200.", date="2023-05-01"),
                new_document("more.md", "The travel budget is 300."),
            ],
        )
        found = kb.find("What is the travel budget in reports since 2023?")
        assert [hit.uri for hit in found.hits] == ["new.pdf"]
        assert found.stages[0].notes["queries"] == "as asked: there is no language model"
        assert len(kb.find("What is the travel budget in reports of 2019?").hits) == 3
        pdf = kb.find("What is the travel budget in the PDF files?").hits
        assert {hit.uri for hit in pdf} == {"old.pdf", "new.pdf"}
