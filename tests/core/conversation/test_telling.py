"""A short text from a model: whole and in time, or an error."""

import pytest

from ragkit.errors import ModelServerError
from ragkit.model.served import ServedModel
from ragkit.model.tally import tally
from ragkit.prompts.ask_model import ask_model
from ragkit.testing import FakeLanguageModel
from ragkit.testing.stub_server.server import Reply
from ragkit_serve import StubServer


def test_reasoning_is_left_out() -> None:
    model = FakeLanguageModel(" So it is. ", reasoning="Hm.")
    assert ask_model(model, "?", max_tokens=9, timeout_s=5) == "So it is."


@pytest.mark.parametrize(
    "reply", [Reply("Late.", prefill_s=999), Reply("On " * 99_999, delay_s=0.05)]
)
def test_a_model_that_takes_too_long_is_let_go(reply: Reply) -> None:
    with (
        StubServer(lambda messages: reply) as server,
        pytest.raises(ModelServerError, match=r"took longer than 0\.3 s"),
    ):
        ask_model(ServedModel([server.url], "stub"), "?", max_tokens=9999, timeout_s=0.3)


@pytest.mark.parametrize(("said", "why"), [("One two three", "was cut off"), (" ", "nothing")])
def test_what_is_not_whole_is_an_error(said: str, why: str) -> None:
    with pytest.raises(ModelServerError, match=why):
        ask_model(FakeLanguageModel(said), "?", max_tokens=2, timeout_s=5)


def test_what_it_cost_is_noted_where_somebody_collects_it() -> None:
    model = FakeLanguageModel("So it is.")
    ask_model(model, "?", max_tokens=9, timeout_s=5)
    with tally() as noted:
        ask_model(model, "Is it?", max_tokens=9, timeout_s=5)
        with pytest.raises(ModelServerError):  # which has cost something all the same
            ask_model(model, "Is it?", max_tokens=1, timeout_s=5)
    ask_model(model, "?", max_tokens=9, timeout_s=5)
    assert [usage.completion_tokens for usage in noted] == [3, 1]
    assert all(usage.prompt_tokens for usage in noted)
