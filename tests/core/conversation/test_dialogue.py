"""Conversations over the fakes: what is asked of the model, what is kept, what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from threading import Timer
from typing import Any, cast

import pytest

from ragkit.conversation import Conversation, dialogue
from ragkit.conversation.memory import SUMMARY_QUESTION
from ragkit.errors import (
    IncompleteAnswerError,
    ModelServerError,
    NotFoundError,
    QueryError,
    UsageError,
)
from ragkit.retrieve.steps.expand import Widen
from ragkit.store.open import Database
from ragkit.store.people.conversations import LEASE_S
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore
from ragkit.testing.corpus import CORPUS, fill, new_document
from ragkit.types import Answer, Decoding, Finish, Message, Reasoning

Talk = Callable[..., Conversation]
HOLIDAY = "How many days of paid holiday are there?"
LAPSE = "When do they lapse?"
ALONE = "When do unused days of paid holiday lapse?"


def is_rewrite(messages: Sequence[Message]) -> bool:
    return any(label in messages[-1].content for label in ("Next question:", "接下来的问题："))


def is_summary(messages: Sequence[Message]) -> bool:
    return "Sum up the conversation" in messages[-1].content


class Scripted(FakeLanguageModel):
    """Rewrite, sum up and answer as told; each may be an error to raise."""

    def __init__(
        self,
        *,
        rewrite: str | Exception = ALONE,
        summary: str | Exception = "They asked about holiday: 28 days.",
        answer: str | Exception = "It is so [1].",
    ) -> None:
        super().__init__(self._say)
        self.says: dict[str, str | Exception] = {
            "rewrite": rewrite,
            "summary": summary,
            "answer": answer,
        }

    def _say(self, messages: Sequence[Message]) -> str:
        said = self.says[kind(messages)]
        if isinstance(said, Exception):
            raise said
        return said

    def asked_for(self, wanted: str) -> list[tuple[Message, ...]]:
        return [messages for messages, _ in self.asked if kind(messages) == wanted]


def kind(messages: Sequence[Message]) -> str:
    return "rewrite" if is_rewrite(messages) else "summary" if is_summary(messages) else "answer"


def test_a_follow_up_is_rewritten_and_a_first_question_is_not(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.ask(HOLIDAY)
    assert model.asked_for("rewrite") == []
    conversation.ask(LAPSE)
    ((message,),) = model.asked_for("rewrite")
    assert f"Question: {HOLIDAY}\nAnswer: It is so .\n" in message.content
    assert message.content.endswith(f"Next question: {LAPSE}")
    first, second = conversation.turns()
    assert (first.question, first.query, first.trace["query"]) == (HOLIDAY, HOLIDAY, "as asked")
    assert (second.question, second.query) == (LAPSE, ALONE)
    assert second.trace == {"query": "rewritten by the model", "history": "1 of 1 turns shown"}
    assert {"history", "rewrite", "retrieve", "generate"} <= set(second.timings)
    assert conversation.last == second


def test_the_model_is_asked_the_question_itself_after_the_turns_before(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.ask(HOLIDAY)
    conversation.ask(LAPSE)
    _, messages = model.asked_for("answer")
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2].content == "It is so [1]."
    assert messages[3].content.endswith(f"Question: {LAPSE}")


def test_a_prompt_begins_as_the_one_before_did(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model)
    for question in (HOLIDAY, LAPSE, "And what of sick leave?"):
        conversation.ask(question)
    first, second, third = model.asked_for("answer")
    assert second[: len(first)] == first
    assert third[: len(second)] == second


@pytest.mark.parametrize(
    "question",
    ["How long did the first flight of the Otter last?", "国内航班一律乘坐什么舱位等级？"],
)
def test_a_question_that_plainly_stands_alone_is_not_rewritten_and_drags_nothing_along(
    talk: Talk, question: str
) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.kb = conversation.kb.adapted(passages=1)
    conversation.ask(HOLIDAY)
    answer = conversation.ask(question)
    assert model.asked_for("rewrite") == []
    assert conversation.last is not None
    assert conversation.last.query == question
    assert conversation.last.trace["query"] == "as asked: it stands alone"
    assert len(answer.hits) == 1, "what was cited before is no candidate"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (ModelServerError("it is down"), "could not be rewritten: it is down"),
        (IncompleteAnswerError("it broke off", "When"), "could not be rewritten: it broke off"),
        ("", "answered nothing"),
        ("Bananas ripen quickly.", "shares no word"),
        ("holiday " * 50, "has 399 characters"),
        ("holiday\n\nlapse", "more than one line"),
        ("holiday " * 600, "was cut off"),
    ],
)
def test_where_rewriting_fails_the_question_is_searched_for_as_it_was_asked(
    talk: Talk, said: str | Exception, why: str
) -> None:
    conversation = talk(Scripted(rewrite=said))
    conversation.ask(HOLIDAY)
    conversation.ask(LAPSE)
    assert conversation.last is not None
    assert conversation.last.query == LAPSE
    assert why in conversation.last.trace["query"]


def test_the_passages_that_were_cited_stay_candidates(talk: Talk, store: FakeStore) -> None:
    conversation = talk(Scripted(rewrite="Otter wing?"))
    conversation.ask("What about the first flight of the Otter?")
    assert conversation.last is not None
    (cited,) = conversation.last.cited
    others = [new_document(f"{n}.md", f"The otter number {n} has a wing.") for n in range(20)]
    embedder = FakeEmbedder()
    embedder.load()
    fill(store, embedder, others)
    second = conversation.ask("And its wing?")
    assert cited in {hit.chunk for hit in second.hits[5:]}


def test_passages_of_a_document_that_is_gone_are_dropped(talk: Talk, store: FakeStore) -> None:
    model = Scripted()
    conversation = talk(model)
    answer = conversation.ask(HOLIDAY)
    for document in {hit.document for hit in answer.used}:
        store.delete_document("default", document)
    embedder = FakeEmbedder()
    embedder.load()
    fill(store, embedder, [new_document("new.md", "Unused days of holiday lapse in March.")])
    conversation.ask(LAPSE)
    messages = model.asked_for("answer")[1]
    assert messages[1].content.endswith(f"Question: {HOLIDAY}")
    assert "<source" not in messages[1].content
    assert messages[2].content == "It is so    ."
    assert 'id="1" title="new.md"' in messages[3].content
    (quote,) = [citation.quote for citation in conversation.turns()[1].citations]
    assert quote == "Unused days of holiday lapse in March."


def test_passages_that_a_new_filter_leaves_out_are_dropped(talk: Talk, store: FakeStore) -> None:
    model = Scripted()
    conversation = talk(model)
    assert conversation.ask(HOLIDAY).used
    embedder = FakeEmbedder()
    embedder.load()
    fill(store, embedder, [new_document("new.md", "Unused days of holiday lapse in March.")])
    conversation.kb = conversation.kb.adapted(where="uri = 'new.md'")
    answer = conversation.ask(LAPSE)
    assert {hit.uri for hit in answer.hits} == {"new.md"}
    messages = model.asked_for("answer")[1]
    assert "<source" not in messages[1].content  # nor is it shown what it must not answer from
    assert messages[2].content == "It is so    ."
    assert 'id="1" title="new.md"' in messages[3].content


def test_numbers_go_on_where_the_turn_before_ended(talk: Talk, store: FakeStore) -> None:
    model = Scripted()
    conversation = talk(model)
    first = conversation.ask(HOLIDAY)
    embedder = FakeEmbedder()
    embedder.load()
    fill(store, embedder, [new_document("otter.md", "Otters sleep in a holt by the river.")])
    number = len(first.used) + 1
    model.says |= {"rewrite": "Where do otters sleep?", "answer": f"In a holt [{number}]."}
    second = conversation.ask("And where do otters sleep?")
    assert second.text == f"In a holt [{number}]."
    assert [(c.n, c.uri, c.verdict) for c in second.citations] == [(number, "otter.md", "verified")]
    assert [claim.support for claim in second.claims] == ["supported"]
    kept = conversation.turns()[1]
    assert kept.first_source == number
    assert kept.cited == (second.used[number - 1].chunk,)
    assert len(kept.used) == len(second.used) - len(first.used)


@pytest.mark.parametrize("error", [ModelServerError("down"), IncompleteAnswerError("cut", "It")])
def test_a_failed_answer_leaves_no_turn(talk: Talk, error: Exception) -> None:
    model = Scripted(answer=error)
    conversation = talk(model)
    with pytest.raises(type(error)):
        conversation.ask(HOLIDAY)
    assert conversation.turns() == ()
    with pytest.raises(NotFoundError):
        conversation.conversations.get(conversation.id)
    model.says["answer"] = "It is so [1]."
    conversation.ask(HOLIDAY)
    model.says["answer"] = error
    with pytest.raises(type(error)):
        conversation.ask(LAPSE)
    assert [turn.question for turn in conversation.turns()] == [HOLIDAY]
    model.says["answer"] = "Yes [1]."
    conversation.ask(LAPSE)  # and it is free again
    assert [turn.question for turn in conversation.turns()] == [HOLIDAY, LAPSE]


def test_a_cancelled_answer_leaves_no_turn_and_lets_the_model_go(talk: Talk) -> None:
    class Endless(FakeLanguageModel):
        closed = False

        def stream(
            self, messages: Sequence[Message], decoding: Decoding | None = None
        ) -> Iterator[str | Reasoning | Finish]:
            try:
                while True:
                    yield "on and "
            finally:
                self.closed = True

    model = Endless()
    conversation = talk(model)
    with closing(cast("Any", conversation.stream(HOLIDAY))) as pieces:
        next(pieces)
    assert model.closed
    assert conversation.turns() == ()


def test_a_second_question_at_once_is_refused(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogue, "STOPPING_S", 0.2)
    conversation = talk(Scripted())
    conversation.ask(HOLIDAY)
    same = conversation.another(conversation.id)
    with closing(cast("Any", conversation.stream(LAPSE))) as pieces:
        next(pieces)
        with pytest.raises(UsageError, match="is answering another question"):
            same.ask(LAPSE)
        rest = list(pieces)
    assert isinstance(rest[-1], Answer)
    same.ask("And then they lapse?")
    assert len(same.turns()) == 3


def test_a_question_right_after_a_stopped_one_waits_until_that_has_ended(talk: Talk) -> None:
    """A server notices only at the next word that nobody listens any more."""
    conversation = talk(Scripted())
    conversation.ask(HOLIDAY)
    same = conversation.another(conversation.id)
    stopped = cast("Any", conversation.stream(LAPSE))
    next(stopped)
    ending = Timer(0.5, stopped.close)
    ending.start()
    same.ask(LAPSE)
    ending.join()
    assert len(same.turns()) == 2


def test_no_transaction_is_open_while_the_model_is_at_work(talk: Talk, database: Database) -> None:
    seen: list[tuple[Any, ...]] = []

    class Watched(Scripted):
        def _say(self, messages: Sequence[Message]) -> str:
            with database.pool.connection() as conn:
                seen.extend(
                    conn.execute(
                        "SELECT state, query FROM pg_stat_activity WHERE xact_start IS NOT NULL"
                        " AND pid <> pg_backend_pid() AND datname = current_database()"
                    )
                )
            return super()._say(messages)

    conversation = talk(Watched(), history_tokens=8)
    for question in (HOLIDAY, LAPSE, "And then they lapse?"):
        conversation.ask(question)
    assert seen == []


def test_a_conversation_deleted_meanwhile_does_not_come_back(talk: Talk) -> None:
    conversation = talk(Scripted())
    conversation.ask(HOLIDAY)
    with closing(cast("Any", conversation.stream(LAPSE))) as pieces:
        next(pieces)
        conversation.conversations.delete(conversation.id)
        with pytest.raises(NotFoundError, match="was not kept"):
            list(pieces)
    assert conversation.conversations.all() == []


def test_deleting_begins_anew(talk: Talk) -> None:
    conversation = talk(Scripted())
    conversation.ask(HOLIDAY)
    before = conversation.id
    conversation.delete()
    assert conversation.turns() == ()
    conversation.ask(HOLIDAY)
    assert conversation.id != before
    assert len(conversation.conversations.all()) == 1


def test_a_question_of_marks_alone_is_answered_with_what_can_be_asked(talk: Talk) -> None:
    model = Scripted()
    for conversation in (talk(model), talk()):
        conversation.ask(HOLIDAY)
        answer = conversation.ask("？！")
        assert answer.text.startswith("我根据您的文档回答问题")
        assert (answer.refused, answer.citations) == (False, ())
        with pytest.raises(QueryError):
            conversation.ask(" \n")
        assert len(conversation.turns()) == 2
    assert model.asked_for("rewrite") == []


def test_a_refusal_is_a_turn(talk: Talk) -> None:
    conversation = talk()
    assert conversation.ask("Who won the football championship?").refused
    (turn,) = conversation.turns()
    assert turn.refused
    assert turn.reason
    assert not conversation.ask(HOLIDAY).refused


def test_older_turns_are_summed_up_after_the_answer(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model, history_tokens=30)
    order: list[str] = []
    questions = [HOLIDAY, LAPSE, "And how many holiday days lapse in March?", "And when?"]
    for question in questions[:3]:
        for piece in conversation.stream(question):
            if isinstance(piece, Answer):
                order.append(f"answer, {len(model.asked_for('summary'))} summaries")
    stored = conversation.conversations.get(conversation.id)
    assert stored.summary == "They asked about holiday: 28 days."
    assert stored.summarised == 2
    assert order == ["answer, 0 summaries"] * 3
    conversation.ask(questions[3])
    messages = model.asked_for("answer")[-1]
    assert messages[1].content.endswith(f"Question: {SUMMARY_QUESTION['en']}")
    assert messages[2].content == "They asked about holiday: 28 days."
    assert messages[3].content.endswith(questions[2])
    assert HOLIDAY not in "".join(message.content for message in messages)
    assert conversation.turns()[3].trace["history"] == "1 of 3 turns shown, 2 in a summary"


def test_a_summary_grows_by_the_turns_that_it_lacks(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model, history_tokens=30)
    for n in range(8):
        conversation.ask(f"Which holiday days lapse in the year number {n}?")
    prompts = [messages[-1].content for messages in model.asked_for("summary")]
    assert len(prompts) >= 2
    assert "What was said before" not in prompts[0]
    assert "What was said before: They asked about holiday: 28 days." in prompts[1]
    for n in range(5):
        assert sum(f"number {n}?" in prompt for prompt in prompts) == 1


@pytest.mark.parametrize("said", [ModelServerError("down"), "Bananas.", "", "holiday " * 40])
def test_where_a_summary_fails_the_oldest_turns_are_left_out_and_the_trace_says_so(
    talk: Talk, said: str | Exception
) -> None:
    model = Scripted(summary=said)
    conversation = talk(model, history_tokens=30)
    for question in (HOLIDAY, LAPSE, "And how many holiday days lapse in March?", "And when?"):
        conversation.ask(question)
    stored = conversation.conversations.get(conversation.id)
    assert (stored.summary, stored.summarised) == ("", 0)
    note = conversation.turns()[3].trace["history"]
    assert note == "2 of 3 turns shown, 1 left out for want of room"


def test_an_answer_over_the_budget_is_cut_in_later_prompts(talk: Talk) -> None:
    model = Scripted(answer="It is so [1]. " + "word " * 100)
    conversation = talk(model, history_tokens=30)
    conversation.ask(HOLIDAY)
    conversation.ask(LAPSE)
    shown = model.asked_for("answer")[1][2].content
    assert shown.startswith("It is so")
    assert shown.endswith("word …")
    assert 10 < len(shown.split()) <= 30
    assert len(conversation.turns()[0].answer.split()) == 104  # what is kept is whole


def test_an_answer_is_replaced_as_if_it_had_not_been(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.ask(HOLIDAY)
    conversation.ask(LAPSE)
    model.says |= {"answer": "In March [1]."}
    answer = conversation.ask(LAPSE, replace_last=True)
    _, second, third = model.asked_for("answer")
    assert third == second, "it was shown the turn before, and not the answer to replace"
    assert model.asked_for("rewrite")[0] == model.asked_for("rewrite")[1]
    assert answer.text == "In March [1]."
    turns = conversation.turns()
    assert [(turn.question, turn.answer) for turn in turns] == [
        (HOLIDAY, "It is so [1]."),
        (LAPSE, "In March [1]."),
    ]
    assert turns[1].trace["history"] == "1 of 1 turns shown"
    assert conversation.last == turns[1]
    conversation.ask("And then they lapse?")
    assert model.asked_for("answer")[-1][: len(third)] == third, "the next one sees the new answer"


def test_the_first_question_is_edited_and_asked_again_as_a_first(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.ask("How many days of holliday are there?")
    conversation.ask(HOLIDAY, replace_last=True)
    assert model.asked_for("rewrite") == []
    (turn,) = conversation.turns()
    assert (turn.question, turn.trace["history"]) == (HOLIDAY, "no turns before")
    assert conversation.conversations.get(conversation.id).title == HOLIDAY


def test_without_a_model_an_edited_follow_up_goes_on_from_the_turn_before(talk: Talk) -> None:
    conversation = talk()
    conversation.ask(HOLIDAY)
    conversation.ask("What about the first flight of the Otter?")
    answer = conversation.ask("When do they lapse?", replace_last=True)
    assert "lapse at the end of March" in answer.text
    assert conversation.last is not None
    assert conversation.last.query == "When do they lapse? (days paid holiday)"
    assert len(conversation.turns()) == 2


@pytest.mark.parametrize("error", [ModelServerError("down"), IncompleteAnswerError("cut", "It")])
def test_where_the_new_answer_fails_the_old_one_stays(talk: Talk, error: Exception) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.ask(HOLIDAY)
    before = conversation.turns()
    model.says["answer"] = error
    with pytest.raises(type(error)):
        conversation.ask(HOLIDAY, replace_last=True)
    model.says["answer"] = "Another [1]."
    with closing(cast("Any", conversation.stream(HOLIDAY, replace_last=True))) as pieces:
        next(pieces)
    assert conversation.turns() == before
    assert conversation.ask(HOLIDAY, replace_last=True).text == "Another [1]."
    assert len(conversation.turns()) == 1


def test_where_nothing_was_answered_nothing_is_replaced(talk: Talk, database: Database) -> None:
    conversation = talk(Scripted(), history_tokens=0)
    with pytest.raises(UsageError, match="no answer to replace yet: ask a question first"):
        conversation.ask(HOLIDAY, replace_last=True)
    # Its program died before its first answer was complete.
    conversation.conversations.begin(conversation.id, conversation.id, new=("default", "t"))
    with database.pool.connection() as conn:
        conn.execute("UPDATE conversation SET asking_until = now()")
    with pytest.raises(UsageError, match="no answer to replace yet"):
        conversation.another(conversation.id).ask(HOLIDAY, replace_last=True)
    with pytest.raises(NotFoundError):
        conversation.conversations.get(conversation.id)


def test_a_summary_never_tells_of_a_replaced_answer(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model, history_tokens=30)
    questions = [HOLIDAY, LAPSE, "And how many holiday days lapse in March?"]
    for question in questions:
        conversation.ask(question)
    stored = conversation.conversations.get(conversation.id)
    assert stored.summarised == 2, "the last turn is never in it"
    # Whatever wrote one of all the turns: it is not shown, and does not survive.
    conversation.conversations.summarise(conversation.id, "Of all three.", old=2, new=3)
    model.says["answer"] = "Not so [1]."
    conversation.ask(questions[2], replace_last=True)
    shown = "".join(message.content for message in model.asked_for("answer")[-1])
    assert "Of all three." not in shown
    stored = conversation.conversations.get(conversation.id)
    assert "Of all three." not in stored.summary
    assert [turn.ordinal for turn in conversation.turns()] == [1, 2, 4]
    # Over the gap the past is summed up as ever, and the trace counts turns, not ordinals.
    model.says["answer"] = "It is so [1]."
    for question in (LAPSE, "And how many holiday days lapse in March?", "And when?"):
        conversation.ask(question)
    prompts = "".join(messages[-1].content for messages in model.asked_for("summary"))
    assert prompts.count("Not so") == 1
    assert [turn.ordinal for turn in conversation.turns()] == [1, 2, 4, 5, 6, 7]
    assert conversation.turns()[-1].trace["history"] == "1 of 5 turns shown, 4 in a summary"


def test_without_history_tokens_every_question_stands_alone(talk: Talk) -> None:
    model = Scripted()
    conversation = talk(model, history_tokens=0)
    conversation.ask(HOLIDAY)
    conversation.ask(LAPSE)
    assert model.asked_for("rewrite") == model.asked_for("summary") == []
    assert len(model.asked_for("answer")[1]) == 2
    assert len(conversation.turns()) == 2


def test_without_a_model_a_follow_up_takes_its_words_from_the_question_before(talk: Talk) -> None:
    conversation = talk()
    conversation.ask(HOLIDAY)
    answer = conversation.ask("When do they lapse?")
    assert "lapse at the end of March" in answer.text
    assert conversation.last is not None
    assert conversation.last.query == "When do they lapse? (days paid holiday)"
    assert conversation.last.question == "When do they lapse?"


def test_the_lease_is_longer_than_a_model_may_be_silent() -> None:
    from ragkit import Settings

    assert Settings().llm_timeout_s < LEASE_S


def test_passages_that_were_widened_are_shown_again_as_wide(talk: Talk, store: FakeStore) -> None:
    model = Scripted()
    conversation = talk(model)
    conversation.kb.widening = [Widen(store, "neighbours")]
    conversation.ask(HOLIDAY)
    (wide, *_) = conversation.turns()[0].used
    assert store.text(wide.document)[wide.start : wide.end] == CORPUS[1].text
    conversation.ask(LAPSE)
    first = next(m for m in model.asked_for("answer")[-1] if m.role == "user").content
    assert CORPUS[1].text in first  # with the number that the answer before cites it by


@pytest.mark.parametrize("greeting", ["hi", "谢谢！"])
def test_a_greeting_is_answered_in_turn_and_nothing_follows_on_from_it(
    talk: Talk, greeting: str
) -> None:
    model = FakeLanguageModel("never asked")
    with_model = talk(model)
    assert not with_model.ask(greeting).refused
    assert model.asked == []
    plain = talk()
    plain.ask("What keeps the wing of a gull up?")
    asked = plain.ask("And of a swift?")
    again = talk()
    again.ask("What keeps the wing of a gull up?")
    again.ask(greeting)
    assert again.ask("And of a swift?").text == asked.text
    assert again.last is not None
    assert plain.last is not None
    assert again.last.query == plain.last.query != "And of a swift?"


def test_a_refused_question_is_not_tried_with_words_of_another_language(talk: Talk) -> None:
    conversation = talk()
    conversation.ask("What keeps the wing of a gull up?")
    assert conversation.ask("押金多少？").refused
    assert conversation.last is not None
    assert conversation.last.query == "押金多少？"
