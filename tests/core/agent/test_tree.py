"""The tree of thoughts: what is searched, kept, bounded and shown."""

from collections.abc import Callable, Sequence

import pytest

from ragkit import KnowledgeBase
from ragkit.agent.run import Step
from ragkit.agent.tree import Tree
from ragkit.answer.write.llm import ChatGenerator
from ragkit.errors import ModelServerError, QueryError
from ragkit.prompts.templates import Templates
from ragkit.testing import FakeEmbedder, FakeLanguageModel, FakeStore
from ragkit.testing.corpus import CORPUS, fill
from ragkit.types import Answer, Message

QUESTION = "What does a delta wing look like, and how long is the holiday?"
ANSWER = "Every employee has 28 days of paid holiday [{n}]."


def scripted(*replies: str) -> Callable[[Sequence[Message]], str]:
    """Reply to requests for thoughts in turn, and answer by the number of the right source."""
    waiting = list(replies)

    def script(messages: Sequence[Message]) -> str:
        prompt = messages[-1].content
        if messages[0].role == "system":
            block = next(b for b in prompt.split("<source id=")[1:] if "28 days" in b)
            return ANSWER.format(n=block.split('"')[1])
        return waiting.pop(0) if waiting else "ENOUGH"

    return script


def run(
    script: str | Callable[[Sequence[Message]], str],
    question: str = QUESTION,
    *,
    max_steps: int = 6,
    max_tokens: int = 30_000,
) -> tuple[list[Step], Answer, FakeLanguageModel]:
    store, embedder, model = FakeStore(), FakeEmbedder(), FakeLanguageModel(script)
    fill(store, embedder, CORPUS)
    kb = KnowledgeBase(store, embedder, ChatGenerator(model), collection="default")
    bounds = {"max_steps": max_steps, "max_tokens": max_tokens}
    tree = Tree(kb, model, templates=Templates(), thoughts=3, **bounds)
    *steps, answer = tree.stream(question)
    assert isinstance(answer, Answer)
    return [step for step in steps if isinstance(step, Step)], answer, model


def test_thoughts_are_searched_scored_and_the_best_followed() -> None:
    reply = "1. How many days of paid holiday?\n2. quantum lagrangian\n- shape of a delta wing"
    steps, answer, model = run(scripted(reply))
    assert [(step.kind, step.text.split("\n")[0]) for step in steps[:5]] == [
        ("search", QUESTION),
        ("model", "1. How many days of paid holiday?"),
        ("search", "How many days of paid holiday?"),
        ("search", "quantum lagrangian"),
        ("search", "shape of a delta wing"),
    ]
    searches = {step.text: step for step in steps if step.kind == "search"}
    assert searches["quantum lagrangian"].is_followed is False
    assert searches["shape of a delta wing"].is_followed is True
    assert all(0 <= (step.score or 0.0) <= 1 for step in searches.values())
    assert answer.text.startswith("Every employee has 28 days")
    assert [citation.verdict for citation in answer.citations] == ["verified"]
    assert all(step.tokens > 0 for step in steps if step.kind == "model")
    prompt = model.asked[0][0][0].content
    assert "Write 3 other questions" in prompt
    assert "- What does a delta wing look like" in prompt


def test_each_branch_grows_from_its_own_sources() -> None:
    steps, _, model = run(scripted("paid holiday days\nshape of a delta wing", "a\nb", "c\nd"))
    searched = [messages[0].content for messages, _ in model.asked if messages[0].role == "user"]
    assert len(searched) == 3  # the root, then the two branches that were kept
    assert "- paid holiday days" in searched[1] or "- paid holiday days" in searched[2]
    assert ("- paid holiday days" in searched[1]) != ("- paid holiday days" in searched[2])
    assert len([step for step in steps if step.kind == "model"]) == 3


@pytest.mark.parametrize("max_steps", [1, 2, 3])
def test_calls_are_bounded_and_one_is_left_for_the_answer(max_steps: int) -> None:
    thoughts = scripted("paid holiday\nleave", "x\ny", "z\nw")
    steps, answer, model = run(thoughts, max_steps=max_steps)
    assert len([step for step in steps if step.kind == "model"]) == max_steps - 1
    assert len(model.asked) == max_steps
    assert "28 days" in answer.text


def test_tokens_are_bounded() -> None:
    steps, answer, _ = run(scripted("paid holiday\nleave", "x\ny", "z\nw"), max_tokens=10)
    assert len([step for step in steps if step.kind == "model"]) == 1
    assert "28 days" in answer.text


def test_a_model_that_has_enough_ends_the_search() -> None:
    for reply in ("ENOUGH", "**Enough.**"):
        steps, answer, _ = run(scripted(reply))
        assert [step.kind for step in steps] == ["search", "model"]
        assert "28 days" in answer.text


def test_repeated_and_wordless_thoughts_are_not_searched() -> None:
    steps, _, _ = run(scripted(f"{QUESTION}\n？！\nholiday\nholiday"))
    assert [step.text for step in steps if step.kind == "search"] == [QUESTION, "holiday"]


def test_what_a_thought_cannot_be_is_one_line() -> None:
    with pytest.raises(QueryError, match="no word"):
        run(scripted(), "？！")
    with pytest.raises(ModelServerError, match="answered nothing"):
        run(lambda messages: "")


def test_chinese_questions_have_chinese_prompts() -> None:
    _, _, model = run(scripted(), "delta wing 的年假有几天？28 days")
    assert model.asked[0][0][0].content.startswith("下面是一个问题")
