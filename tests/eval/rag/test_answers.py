"""Whole answers against labels: right, wrong, refused, and what a run keeps of them."""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from ragkit import KnowledgeBase
from ragkit.answer.write.llm import ChatGenerator
from ragkit.errors import UsageError
from ragkit.testing import FakeLanguageModel
from ragkit_eval.judge import ParseFailure, Verdict, judged_ask, with_judge
from ragkit_eval.judge.judge import Dimension
from ragkit_eval.rag import knowledge_ask, locate, model_of, rag_task
from ragkit_eval.rag.answer_task import RagTask
from ragkit_eval.rag.summary import sum_up
from ragkit_eval.rag.task_run import run_task
from ragkit_eval.run.item import Item, Response
from ragkit_eval.sets import LabelledSet, Question


class OfChinese:
    """A judge that cannot read English."""

    signature = "judge|of:chinese"
    dimension: Dimension = "correctness"

    def judge(
        self, question: str, answer: str, passages: Sequence[str], references: Sequence[str]
    ) -> Verdict | ParseFailure:
        return Verdict(0.75) if references == ("经济舱",) else ParseFailure(answer, "no JSON")


HOLIDAY = Question(
    "holiday",
    "How many days of paid holiday has an employee?",
    answers=("28 days",),
    relevant={"leave.md": 1},
)
CHINESE = Question("票", "国内航班乘坐什么舱？", answers=("经济舱",), relevant={"差旅.md": 1})
UNKNOWN = Question("unknown", "How much does a banana cost?", answerable=False)


def task_of(kb: KnowledgeBase, *questions: Question) -> RagTask:
    labelled = LabelledSet("set", {}, questions)
    return rag_task(labelled, uris=locate(labelled, kb.store, "default"))


def ask(kb: KnowledgeBase, item: Item) -> Response:
    async def one() -> Response:
        return await knowledge_ask(kb)(item)

    return asyncio.run(one())


def scores(kb: KnowledgeBase, question: Question) -> dict[str, float]:
    task = task_of(kb, question)
    (item,) = task.items()
    return dict(task.score(item, ask(kb, item)).scores)


@pytest.mark.parametrize("question", [HOLIDAY, CHINESE])
def test_a_quoted_answer_scores_in_everything(kb: KnowledgeBase, question: Question) -> None:
    found = scores(kb, question)
    assert 0 < found.pop("token_f1") < 1  # it quotes a whole sentence
    assert found == {
        "answer_score": 1.0,
        "reference_recall": 1.0,
        "contains": 1.0,
        "language_match": 1.0,
        "citation_validity": 1.0,
        "citation_recall": 1.0,
        "groundedness": 1.0,
        "ndcg@10": 1.0,
        "recall@10": 1.0,
        "answer_found": 1.0,
    }


def test_a_wrong_answer_scores_nothing_but_its_passages(kb: KnowledgeBase) -> None:
    kb.generator = ChatGenerator(FakeLanguageModel("Otters may fly kites [1]."))
    found = scores(kb, HOLIDAY)
    assert (found["answer_score"], found["contains"], found["recall@10"]) == (0.0, 0.0, 1.0)
    assert (found["citation_recall"], found["groundedness"]) == (0.0, 0.0)


def test_a_refusal_of_what_is_answerable_scores_0_in_the_answer(kb: KnowledgeBase) -> None:
    kb.generator = ChatGenerator(FakeLanguageModel("The sources do not answer this question."))
    labelled = Question("1", HOLIDAY.text, answers=("The sources",), answerable=True)
    found = scores(kb, labelled)
    assert found == {
        "answer_score": 0.0,
        "reference_recall": 0.0,
        "token_f1": 0.0,
        "contains": 0.0,
        "refused_rightly": 0.0,
        "language_match": 1.0,
        "answer_found": 0.0,
    }


def test_only_the_refusal_counts_where_nothing_answers(kb: KnowledgeBase) -> None:
    assert scores(kb, UNKNOWN) == {
        "answer_score": 1.0,
        "refused_rightly": 1.0,
        "language_match": 1.0,
    }
    answered = Question("1", HOLIDAY.text, answerable=False)
    assert scores(kb, answered)["answer_score"] == 0.0


def test_without_a_reference_it_counts_that_it_was_answered(kb: KnowledgeBase) -> None:
    found = scores(kb, Question("1", HOLIDAY.text, answerable=True))
    assert (found["answer_score"], "reference_recall" in found) == (1.0, False)


def test_a_question_of_which_nothing_is_known_is_refused() -> None:
    labelled = LabelledSet("set", {}, (HOLIDAY, Question("2", "What?")))
    with pytest.raises(UsageError, match="1 questions of set, first '2', say neither"):
        rag_task(labelled)


def test_an_unknown_metric_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(UsageError, match="rouge-l"):
        rag_task(LabelledSet("set", {}, (HOLIDAY,)), metrics=["rouge-ll"])


def test_a_run_keeps_all_that_scores_are_made_of(kb: KnowledgeBase, tmp_path: Path) -> None:
    blank = Question("blank", " ", answers=("x",))
    task = task_of(kb, HOLIDAY, CHINESE, UNKNOWN, blank)
    out = tmp_path / "run.jsonl"
    run = run_task(task, knowledge_ask(kb), model_of(kb), out, concurrency=3)
    by_id = {record.id: record for record in run.records}
    assert {name: record.status for name, record in by_id.items()} == {
        "holiday": "ok",
        "票": "ok",
        "unknown": "ok",
        "blank": "error",
    }
    items = {item.id: item for item in task.items()}
    for name in ("holiday", "票", "unknown"):
        record = by_id[name]
        again = task.score(items[name], Response(text=record.output, detail=record.detail))
        assert again.scores == record.scores
        assert record.detail["labels"] == json.loads(json.dumps(dict(items[name].extra)))
    assert by_id["holiday"].detail["hits"][0]["text"].startswith("Every employee has 28 days")
    assert by_id["holiday"].cluster == "leave.md"
    assert run.header.model["generator"] == "extractive"
    assert run.header.model["documents"] == 3

    summary = sum_up(run)
    assert (summary.scores.items, summary.scores.errors) == (4, 1)
    means = {name: (score.mean, score.items) for name, score in summary.scores.scores.items()}
    assert means["answer_score"] == (0.75, 4)  # the error counts 0
    assert summary.worst[0].id == "blank"
    assert json.loads(json.dumps(summary.as_json()))["scores"]["answer_score"]["mean"] == 0.75


def test_the_passages_that_were_shown_are_kept_with_their_text(kb: KnowledgeBase) -> None:
    kb.generator = ChatGenerator(FakeLanguageModel("An employee has 28 days [1]."))
    task = task_of(kb, HOLIDAY)
    (item,) = task.items()
    response = ask(kb, item)
    used = response.detail["used"]
    assert used
    assert all(kb.store.text(p["document"])[p["start"] : p["end"]] == p["text"] for p in used)
    only_shown = Response(text=response.text, detail={**response.detail, "hits": []})
    assert task.score(item, only_shown).scores["citation_validity"] == 1


def test_what_a_judge_says_is_a_score_and_what_it_fails_to_say_a_rate(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    judge = OfChinese()
    task = with_judge(task_of(kb, HOLIDAY, CHINESE, UNKNOWN), judge)
    run = run_task(task, judged_ask(knowledge_ask(kb), judge), model_of(kb))
    scores = {record.id: record.scores.get("judge") for record in run.records}
    assert scores == {"holiday": None, "票": 0.75, "unknown": None}
    assert run.header.tasks[0].metrics["judge"] == "judge|of:chinese"
    assert sum_up(run).rates["judge_failure"] == 0.5


def test_a_run_that_is_told_to_end_ends_cleanly(
    kb: KnowledgeBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = task_of(kb, HOLIDAY, CHINESE, UNKNOWN)
    ask, asked = knowledge_ask(kb), list[str]()

    async def told(item: Item) -> Response:
        asked.append(item.id)
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(20)
        return await ask(item)

    before = signal.signal(signal.SIGTERM, lambda *_: pytest.fail("the signal went past the run"))
    try:
        with pytest.raises(SystemExit) as ended:
            run_task(task, told, model_of(kb), tmp_path / "run.jsonl", quiet=False)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 143
    assert len(asked) == 2
    said = f"ragkit: stopped; the same command goes on from what is in {tmp_path / 'run.jsonl'}\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_run_is_gone_on_with(kb: KnowledgeBase, tmp_path: Path) -> None:
    task = task_of(kb, HOLIDAY, CHINESE, UNKNOWN)
    out = tmp_path / "run.jsonl"
    whole = run_task(task, knowledge_ask(kb), model_of(kb), out)
    lines = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:2]) + lines[2][:20])
    again = run_task(task, knowledge_ask(kb), model_of(kb), out)
    assert out.read_bytes().splitlines(keepends=True)[:2] == lines[:2]
    # Lines stand in the order in which items were scored, which several threads do.
    assert {record.id: record.scores for record in again.records} == {
        record.id: record.scores for record in whole.records
    }
