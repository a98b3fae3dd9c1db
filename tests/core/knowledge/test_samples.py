"""Answers that are written with examples, in steps, or several times, from question to trace."""

from collections.abc import Callable, Sequence
from itertools import count

import pytest

from ragkit import KnowledgeBase
from ragkit.answer.write.llm import ChatGenerator
from ragkit.errors import ModelServerError, UsageError
from ragkit.prompts.prompting import Example, Prompting
from ragkit.testing import FakeEmbedder, FakeGenerator, FakeLanguageModel, FakeStore
from ragkit.testing.corpus import CORPUS, fill
from ragkit.types import Answer, Decoding, Message, Reasoning

QUESTION = "How many days of paid holiday does every employee have?"
RIGHT = "Every employee has 28 days of paid holiday [1]."
WRONG = "Every employee has 30 days of paid holiday [1]."


def knowledge(
    script: str | Callable[[Sequence[Message]], str], decoding: Decoding | None = None
) -> tuple[KnowledgeBase, FakeLanguageModel]:
    store, embedder, model = FakeStore(), FakeEmbedder(), FakeLanguageModel(script)
    fill(store, embedder, CORPUS)
    generator = ChatGenerator(model, decoding=decoding)
    return KnowledgeBase(store, embedder, generator, collection="default"), model


def in_turn(*texts: str) -> Callable[[Sequence[Message]], str]:
    numbers = count()
    return lambda messages: texts[next(numbers) % len(texts)]


def test_the_answer_of_most_samples_is_given_and_noted() -> None:
    kb, model = knowledge(in_turn(WRONG, RIGHT, RIGHT))
    sampled = kb.adapted(prompting=Prompting(samples=3))
    *pieces, answer = sampled.stream(QUESTION)
    assert isinstance(answer, Answer)
    assert pieces == [answer.text] == [RIGHT]
    assert [citation.verdict for citation in answer.citations] == ["verified"]
    noted = answer.prompting
    assert (noted["examples"], noted["steps"], noted["samples"]) == (0, False, 3)
    assert sorted(noted["agreeing"]) == [0.0, 1.0, 1.0]
    assert noted["agreeing"][noted["chosen"] - 1] == 1.0
    assert len(model.asked) == 3
    assert {decoding.temperature for _, decoding in model.asked if decoding} == {0.7}
    assert len({messages for messages, _ in model.asked}) == 1
    plain = kb.ask(QUESTION)
    assert answer.usage is not None
    assert plain.usage is not None
    assert answer.usage.completion_tokens == 3 * plain.usage.completion_tokens
    assert answer.timings.keys() == {"retrieve", "gate", "generate", "verify"}


def test_samples_have_their_own_seeds_and_the_temperature_that_is_set() -> None:
    kb, model = knowledge(RIGHT, Decoding(temperature=1.2, seed=5))
    kb.adapted(prompting=Prompting(samples=3)).ask(QUESTION)
    decodings = [decoding for _, decoding in model.asked if decoding]
    assert {decoding.temperature for decoding in decodings} == {1.2}
    assert sorted(decoding.seed or 0 for decoding in decodings) == [5, 6, 7]


def test_a_sample_that_fails_fails_the_answer() -> None:
    kb, _ = knowledge(in_turn(RIGHT, "", RIGHT))
    with pytest.raises(ModelServerError, match="answered nothing"):
        kb.adapted(prompting=Prompting(samples=3)).ask(QUESTION)


def test_what_is_refused_before_the_model_is_asked_once_takes_no_samples() -> None:
    kb, model = knowledge(RIGHT)
    answer = kb.adapted(prompting=Prompting(samples=3)).ask("Quantum chromodynamics lagrangian?")
    assert answer.refused
    assert model.asked == []


def test_only_what_follows_the_steps_is_shown_and_checked() -> None:
    kb, model = knowledge(f"Source 1 says 99 days? No, 28.\n### Answer\n{RIGHT}")
    stepwise = kb.adapted(prompting=Prompting(steps=True))
    *pieces, answer = stepwise.stream(QUESTION)
    assert "".join(piece for piece in pieces if isinstance(piece, str)) == RIGHT
    assert pieces[0] == Reasoning("Source 1 says 99 days? No, 28.")
    assert isinstance(answer, Answer)
    assert (answer.text, answer.reasoning) == (RIGHT, "Source 1 says 99 days? No, 28.")
    assert answer.unverified == ()
    assert answer.prompting == {"examples": 0, "steps": True, "samples": 1}
    assert '"### Answer"' in model.asked[0][0][0].content


def test_steps_that_use_all_tokens_up_are_said_to() -> None:
    kb, _ = knowledge("word " * 50, Decoding(max_tokens=20))
    with pytest.raises(ModelServerError, match="used up its 20 tokens before answering"):
        kb.adapted(prompting=Prompting(steps=True)).ask(QUESTION)


def test_examples_are_in_the_prompt_and_in_its_version() -> None:
    kb, model = knowledge(RIGHT)
    example = Example("Who pays?", "The firm pays [1].")
    plain, shown = kb.ask(QUESTION), kb.adapted(prompting=Prompting((example,))).ask(QUESTION)
    rules = [messages[0].content for messages, _ in model.asked]
    assert rules[1].startswith(rules[0])
    assert rules[1].endswith("Question: Who pays?\nAnswer: The firm pays [1].")
    assert shown.prompt.startswith(f"{plain.prompt}+")
    assert shown.prompting == {"examples": 1, "steps": False, "samples": 1}
    assert plain.prompting == {}


def test_examples_take_room_of_the_context() -> None:
    kb, _ = knowledge(RIGHT)
    examples = tuple(Example(f"{n}?", "word " * 700) for n in range(5))
    with pytest.raises(UsageError, match="no passage fits into the context budget"):
        kb.adapted(prompting=Prompting(examples)).ask(QUESTION)


def test_data_has_neither_steps_nor_samples() -> None:
    kb, _ = knowledge("{}", Decoding(json_schema={"type": "object"}))
    for prompting in (Prompting(steps=True), Prompting(samples=2)):
        with pytest.raises(UsageError, match="leave json_schema and regex out"):
            kb.adapted(prompting=prompting)


def test_without_a_language_model_there_is_one_clear_line() -> None:
    store, embedder = FakeStore(), FakeEmbedder()
    fill(store, embedder, CORPUS)
    kb = KnowledgeBase(store, embedder, FakeGenerator(), collection="default")
    with pytest.raises(UsageError, match="are for a language model: set RAGKIT_LLM_URL"):
        kb.adapted(prompting=Prompting(samples=2))
