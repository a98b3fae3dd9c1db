"""Answers of a language model: over real HTTP against a scripted server, and from a fake."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.answer.write.llm import CUT_SHORT, ChatGenerator, refusal_in
from ragkit.errors import IncompleteAnswerError, ModelServerError
from ragkit.knowledge import build
from ragkit.model.served import ServedModel
from ragkit.prompts.messages import build_prompt
from ragkit.settings.settings import Settings
from ragkit.testing import FakeLanguageModel, FakeStore
from ragkit.testing.stub_server.server import Fault, Reply, Script, StubServer
from ragkit.types import Citation, Decoding, Draft, Hit, Message, Reasoning, Turn, Usage

TEXT = "Offices open at nine. Annual leave is 25 days. Leave must be booked in May."
LEAVE = Hit(
    document=7, chunk=1, uri="h.md", title="Handbook", page=2,
    start=100, end=100 + len(TEXT), text=TEXT, score=1.0,
)  # fmt: skip


ASKED = "How long is annual leave?"
DECODING = Decoding(max_tokens=99)


def ask(server: StubServer) -> list[str | Reasoning | Draft]:
    model = ServedModel([server.url], "stub", timeout_s=5)
    return list(ChatGenerator(model, decoding=DECODING).generate(ASKED, [LEAVE]))


def draft_of(pieces: Sequence[str | Reasoning | Draft]) -> Draft:
    *said, draft = pieces
    assert isinstance(draft, Draft)
    assert "".join(piece for piece in said if isinstance(piece, str)) == draft.text
    assert "".join(piece.text for piece in said if isinstance(piece, Reasoning)) == draft.reasoning
    return draft


def answer(script: Script) -> Draft:
    with StubServer(script) as server:
        return draft_of(ask(server))


def failure(script: Script) -> str:
    with StubServer(script) as server, pytest.raises(ModelServerError) as caught:
        ask(server)
    return str(caught.value)


def test_answer_streams_and_ends_with_a_cited_draft() -> None:
    with StubServer(lambda messages: "Annual leave lasts 25 days [1].") as server:
        *pieces, draft = ask(server)
    assert len(pieces) == 6  # by words: a link is known at its end
    assert isinstance(draft, Draft)
    assert draft.usage is not None
    assert draft.usage.completion_tokens == 9
    assert draft == Draft(
        text="Annual leave lasts 25 days [1].",
        citations=(
            Citation(
                n=1, document=7, uri="h.md", title="Handbook", page=2,
                start=122, end=146, quote="Annual leave is 25 days.",
            ),
        ),
        usage=Usage(draft.usage.prompt_tokens, 9, 0),
        used=(LEAVE,),
        prompt=build_prompt(ASKED, [LEAVE], budget_tokens=3000).version,
    )  # fmt: skip


def test_braces_in_a_document_are_no_template() -> None:
    text = "Use {question} and {{x}} for %s."
    model = FakeLanguageModel()
    list(ChatGenerator(model).generate("Which {braces}?", [replace(LEAVE, text=text)]))
    ((messages, _),) = model.asked
    assert f"\n{text}\n" in messages[-1].content
    assert messages[-1].content.endswith("Question: Which {braces}?")


def test_default_stub_quotes_what_can_be_cited() -> None:
    with StubServer() as server:
        draft = ask(server)[-1]
    assert isinstance(draft, Draft)
    assert [citation.quote for citation in draft.citations] == ["Offices open at nine."]


def test_refusal() -> None:
    draft = answer(lambda messages: "The sources do not answer this question.")
    assert (draft.refused, draft.citations) == (True, ())
    assert draft.reason == "The language model found no answer in the passages that it was given."
    assert refusal_in("所给资料无法回答这个问题") == "所给资料无法回答这个问题。"
    assert (
        refusal_in("“所给资料无法回答这个问题。” 资料只谈到请假。") == "所给资料无法回答这个问题。"
    )
    assert refusal_in("The sources do not answer this question. But 25 days are usual.") == ""
    assert refusal_in("The sources do not answer this question fully, see [1].") == ""
    assert refusal_in("They do answer [1].") == ""


def test_no_passages_asks_nobody() -> None:
    model = FakeLanguageModel()
    said = list(ChatGenerator(model).generate("谁有权批准？", []))
    assert model.asked == []
    assert said == [
        "所给资料无法回答这个问题。",
        Draft("所给资料无法回答这个问题。", refused=True, reason="文档中没有找到相关内容。"),
    ]


def test_number_without_a_source_is_no_citation_and_is_gone() -> None:
    draft = answer(lambda messages: "It is 25 days [9].")
    assert (draft.text, draft.citations) == ("It is 25 days.", ())


@pytest.mark.parametrize(
    "reply",
    [
        Reply("<think>25? [2] Yes.</think>\n\nIt is 25 days [1]."),
        Reply("It is 25 days [1].", reasoning="25? [2] Yes."),
    ],
)
def test_reasoning_is_in_the_draft_and_never_in_the_answer(reply: Reply) -> None:
    draft = answer(lambda messages: reply)
    assert draft.text == "It is 25 days [1]."
    assert draft.reasoning == "25? [2] Yes."
    assert [citation.n for citation in draft.citations] == [1]


def test_cut_by_max_tokens_says_so() -> None:
    draft = answer(lambda messages: Reply("It is 25", finish_reason="length"))
    assert draft.reason == CUT_SHORT.format(max_tokens=99)
    assert not draft.refused
    said = failure(lambda messages: Reply("<think>long", finish_reason="length"))
    assert said == (
        "model 'stub' used up its 99 tokens before answering: allow it more"
        " (RAGKIT_LLM_MAX_TOKENS), or turn its thinking off"
    )


@pytest.mark.parametrize("text", ["", "  \n"])
def test_empty_answer(text: str) -> None:
    assert failure(lambda messages: text) == (
        "model 'stub' answered nothing: check its chat template"
    )


def test_a_broken_answer_holds_what_came() -> None:
    with (
        StubServer(lambda messages: Fault(cut="quiet", text="It is 25")) as server,
        pytest.raises(IncompleteAnswerError, match="stopped in the middle") as caught,
    ):
        ask(server)
    assert caught.value.received == "It is 25"


def test_a_reader_who_leaves_ends_the_request() -> None:
    with StubServer(lambda messages: Reply("word " * 99_999, delay_s=0.01)) as server:
        model = ServedModel([server.url], "stub", timeout_s=5)
        pieces = ChatGenerator(model).generate(ASKED, [LEAVE])
        assert next(pieces) == "word "
        pieces.close()  # type: ignore[attr-defined]
        closed = time.monotonic()
        while not server.disconnects:
            assert time.monotonic() < closed + 60
            time.sleep(0.005)
    assert len(server.chats) == 1


@pytest.mark.parametrize("decoding", [Decoding(json_schema={}), Decoding(regex=".*")])
def test_an_answer_that_is_data_is_neither_cited_nor_a_refusal(decoding: Decoding) -> None:
    said = '{"answer": "25 days", "sources": [1]}'
    generator = ChatGenerator(FakeLanguageModel(said), decoding=decoding)
    draft = draft_of(list(generator.generate(ASKED, [LEAVE])))
    assert generator.writes_data
    assert (draft.text, draft.citations, draft.refused) == (said, (), False)
    refusal = ChatGenerator(
        FakeLanguageModel("The sources do not answer this question."), decoding=decoding
    )
    assert not draft_of(list(refusal.generate(ASKED, [LEAVE]))).refused


def test_turns_before_and_the_decoding_reach_the_model() -> None:
    model = FakeLanguageModel()
    history = [Turn("When do you open?", "At nine [1].", (replace(LEAVE, chunk=2),))]
    list(ChatGenerator(model, decoding=DECODING).generate(ASKED, [LEAVE], history=history))
    ((messages, decoding),) = model.asked
    assert [message.role for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2] == Message("assistant", "At nine [1].")
    assert decoding == DECODING


def test_the_prompt_and_the_answer_fit_the_models_context() -> None:
    model = FakeLanguageModel(context_tokens=400)
    passages = [
        replace(LEAVE, chunk=n, document=n, start=0, end=300, text=f"word{n} " * 50)
        for n in range(9)
    ]
    draft = draft_of(
        list(ChatGenerator(model, decoding=Decoding(max_tokens=40)).generate(ASKED, passages))
    )
    ((messages, _),) = model.asked
    assert sum(model.count_tokens([message.content for message in messages])) <= 400 - 40
    assert 0 < len(draft.used) < 9


def test_the_settings_make_the_generator(tmp_path: Path) -> None:
    (tmp_path / "user.en.jinja").write_text("{{ sources | join }} My own words: {{ question }}")
    with StubServer() as server:
        settings = Settings(
            llm_url=server.url, llm_model="stub", llm_max_tokens=77, prompts=tmp_path
        )
        generator = build.generator(settings, FakeStore(), "default")
        list(generator.generate(ASKED, [LEAVE]))
        told = build.generator(settings, FakeStore(), "default", decoding=DECODING)
        list(told.generate(ASKED, [LEAVE]))
    assert [request.body["max_tokens"] for request in server.chats] == [77, 99]
    content = server.chats[0].body["messages"][-1]["content"]
    assert content.endswith("My own words: How long is annual leave?")


def test_what_was_held_back_is_shown_when_the_answer_breaks_off() -> None:
    said: list[str] = []
    broken = Fault(cut="reset", text="See ![x](http://evil.example/?q=1) [9]. Leave lasts 25 da")
    with StubServer(lambda messages: broken) as server:
        model = ServedModel([server.url], "stub", timeout_s=5)
        generator = ChatGenerator(model, decoding=DECODING)
        with pytest.raises(IncompleteAnswerError) as caught:
            said.extend(str(piece) for piece in generator.generate(ASKED, [LEAVE]))
    assert caught.value.received == "".join(said)
    assert caught.value.received.endswith("Leave lasts 25 da")
    assert "evil" not in caught.value.received
    assert "[9]" not in caught.value.received
