"""What a search finds against labels: documents, spans, accepted answers."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ragkit import KnowledgeBase
from ragkit.errors import ModelError, UsageError
from ragkit.retrieve.steps.duplicates import Collapse
from ragkit.testing import CORPUS, fill
from ragkit_eval.rag import locate, retrieval_task, search_ask
from ragkit_eval.rag.passages import passage_scores
from ragkit_eval.run.item import Item, Response
from ragkit_eval.sets import Excerpt, LabelledSet, Question

LABELS: dict[str, Any] = {
    "answers": ["28 days"],
    "relevant": {"b": 1, "c": 2},
    "spans": [{"document": "b", "start": 10, "end": 20}],
}
PASSAGES = [
    {"uri": "a", "start": 0, "end": 30, "text": "Nothing."},
    {"uri": "b", "start": 5, "end": 15, "text": "It is 28\ndays."},
    {"uri": "a", "start": 30, "end": 40, "text": "Nothing."},
    {"uri": "b", "start": 12, "end": 22, "text": "28 days."},
]


def test_measures_of_documents_count_a_document_once_where_its_best_passage_stands() -> None:
    names = ["mrr", "recall@2", "precision@2", "map"]
    assert passage_scores(names, LABELS, PASSAGES) == {
        "mrr": 0.5,  # a, then b
        "recall@2": 0.5,
        "precision@2": 0.5,
        "map": 0.25,
    }


def test_measures_of_spans_count_characters() -> None:
    names = ["span_recall@2", "span_recall", "span_precision@2", "span_iou@2"]
    assert passage_scores(names, LABELS, PASSAGES) == {
        "span_recall@2": 0.5,  # 10 to 15 of 10 to 20
        "span_recall": 1.0,  # 5 to 15 and 12 to 22 are 5 to 22
        "span_precision@2": 0.125,  # 5 of 30 + 10
        "span_iou@2": pytest.approx(5 / 45),
    }


def test_an_accepted_answer_is_found_across_a_line_end() -> None:
    names = ["answer_found@1", "answer_found@2"]
    assert list(passage_scores(names, LABELS, PASSAGES).values()) == [0.0, 1.0]


def test_the_documents_of_spans_are_relevant_where_no_document_is_labelled() -> None:
    spans = {**LABELS, "relevant": {}}
    assert passage_scores(["mrr"], spans, PASSAGES) == {"mrr": 0.5}


def test_passages_that_say_the_same_count_where_the_shown_one_stands() -> None:
    shown = {**PASSAGES[0], "duplicates": [{"uri": "b", "start": 10, "end": 20}]}
    passages = [shown, {"uri": "c", "start": 0, "end": 5, "text": "More."}]
    assert passage_scores(["mrr", "recall@2", "recall@3", "span_recall@1"], LABELS, passages) == {
        "mrr": 0.5,  # a, b, c
        "recall@2": 0.5,
        "recall@3": 1.0,
        "span_recall@1": 1.0,
    }


def test_what_has_no_label_has_no_score() -> None:
    names = ["mrr", "span_recall", "answer_found"]
    assert passage_scores(names, {"answers": [], "relevant": {"a": 0}, "spans": []}, []) == {}
    assert passage_scores(names, LABELS, []) == dict.fromkeys(names, 0.0)


def made(*questions: Question) -> LabelledSet:
    return LabelledSet("set", {}, questions)


def test_a_search_is_asked_and_scored(kb: KnowledgeBase) -> None:
    labelled = made(
        Question("1", "How many days of paid holiday?", relevant={"leave": 1}),
        Question("2", "Who knows?", answerable=False, relevant={"leave": 1}),
        Question("3", "国内航班坐什么舱？", relevant={"差旅.md": 1}, answers=("经济舱",)),
        Question("4", "Nothing is known of this."),
    )
    task = retrieval_task(labelled, uris=locate(labelled, kb.store, "default"))
    assert (task.name, task.metric, task.left_out) == ("retrieval:set", "ndcg@10", 2)
    first, third = task.items()
    assert (first.id, first.cluster, third.id) == ("1", "leave", "3")
    ask = search_ask(kb, k=4)
    response = asyncio.run(_ask(ask, first))
    assert response.text.splitlines()[0] == "leave.md"
    scored = task.score(first, response)
    assert scored.prediction == "leave.md"
    assert scored.scores["ndcg@10"] == 1.0
    assert "answer_found@5" not in scored.scores
    chinese = task.score(third, asyncio.run(_ask(ask, third)))
    assert (chinese.scores["mrr"], chinese.scores["answer_found@5"]) == (1.0, 1.0)


def test_a_search_keeps_the_places_of_passages_that_say_the_same(kb: KnowledgeBase) -> None:
    fill(kb.store, kb.embedder, [replace(CORPUS[1], uri="leave (2).md")])
    kb.refinements, kb.candidates = [Collapse()], 20
    labelled = made(Question("1", "days of paid holiday?", relevant={"leave (2).md": 1}))
    task = retrieval_task(labelled, ["recall@2"], uris=locate(labelled, kb.store, "default"))
    (item,) = task.items()
    response = asyncio.run(_ask(search_ask(kb, k=1), item))
    assert sorted(response.text.splitlines()) == ["leave (2).md", "leave.md"]
    assert task.score(item, response).scores == {"recall@2": 1.0}


def test_spans_are_judged_first_where_all_have_them(kb: KnowledgeBase) -> None:
    labelled = made(Question("1", "holiday?", excerpts=(Excerpt("leave.md", 0, 46),)))
    task = retrieval_task(labelled, uris=locate(labelled, kb.store, "default"))
    assert task.metric == "span_recall@5"
    (item,) = task.items()
    scored = task.score(item, asyncio.run(_ask(search_ask(kb), item)))
    assert scored.scores["span_recall@5"] == 1.0


def test_a_query_without_content_is_that_items_error(kb: KnowledgeBase) -> None:
    task = retrieval_task(made(Question("1", "???", relevant={"leave": 1})))
    (item,) = task.items()
    with pytest.raises(ModelError, match="query"):
        asyncio.run(_ask(search_ask(kb), item))


def test_unknown_measures_and_sets_without_labels_are_errors() -> None:
    labelled = made(Question("1", "q", relevant={"a": 1}))
    with pytest.raises(UsageError, match="did you mean ndcg@10"):
        retrieval_task(labelled, ["ndgc@10"])
    with pytest.raises(UsageError, match="use answer_found@10 or less"):
        retrieval_task(labelled, ["answer_found@20"])
    with pytest.raises(UsageError, match="no question of set has a label that span_recall needs"):
        retrieval_task(labelled, ["span_recall"])
    with pytest.raises(UsageError, match="no question of set has a label that "):
        retrieval_task(made(Question("1", "q")))


async def _ask(ask: Any, item: Item) -> Response:
    response = await ask(item)
    assert isinstance(response, Response)
    return response
