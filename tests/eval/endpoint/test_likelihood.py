"""Log-likelihoods of continuations: by token ids, or by an echoed text."""

from typing import Any

import pytest

from ragkit.errors import ModelServerError, UsageError
from ragkit.types import Usage
from ragkit_eval.run.item import Item, Likelihood
from tests.eval.endpoint.asking import ask
from tests.eval.endpoint.scripted import Asked, Reply, ScriptedServer, completion, error
from tests.eval.run.fake import FakeTask

CHOICES = Item("1", "Two and two? ", choices=("four", "five"))
LIKELIHOOD = FakeTask((CHOICES,), method="loglikelihood")
# A tokenizer of words with the space before them; "<s>" before all where special tokens are asked.
WORDS = {"<s>": 0, "Two": 1, " and": 2, " two?": 3, " four": 4, " five": 5}


def tokenize(body: dict[str, Any]) -> Reply:
    words = body["prompt"].replace(" ", "\0 ").split("\0")
    start = [0] if body["add_special_tokens"] else []
    return Reply({"tokens": start + [WORDS[word] for word in words]})


def echo_ids(request: Asked) -> Reply:
    """Echo token ids: token n has the log-probability -n, " four" alone is not the first choice."""
    ids = request.body["prompt"]
    logprobs = [None, *(-float(token) for token in ids[1:]), -9.0]
    tops = [None, *({"x": -float(token) + (token == 4)} for token in ids[1:]), {"x": -9.0}]
    return completion("", token_logprobs=logprobs, top_logprobs=tops)


def test_likelihoods_are_of_token_ids_where_the_server_cuts_tokens() -> None:
    with ScriptedServer(echo_ids, at_root={"/tokenize": tokenize}) as server:
        response = ask(server.url, LIKELIHOOD, CHOICES)
    assert [request.body["prompt"] for request in server.asked] == [
        [0, 1, 2, 3, 4],
        [0, 1, 2, 3, 5],
    ]
    options = {name: server.asked[0].body[name] for name in ("max_tokens", "logprobs", "echo")}
    assert options == {"max_tokens": 1, "logprobs": 1, "echo": True}
    assert response.likelihoods == (Likelihood(-4.0, 1, False), Likelihood(-5.0, 1, True))
    assert response.usage == Usage(14, 2)


def test_likelihoods_without_special_tokens() -> None:
    with ScriptedServer(echo_ids, at_root={"/tokenize": tokenize}) as server:
        ask(server.url, LIKELIHOOD, CHOICES, special_tokens=False)
    assert [request.body["prompt"] for request in server.asked] == [[1, 2, 3, 4], [1, 2, 3, 5]]


def test_a_tokenizer_that_fails_for_once_is_asked_again() -> None:
    replies = iter([error(500, "busy")])
    at_root = {"/tokenize": lambda body: next(replies, None) or tokenize(body)}
    with ScriptedServer(echo_ids, at_root=at_root) as server:
        ask(server.url, LIKELIHOOD, CHOICES)
    assert server.asked[0].body["prompt"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("start", [[], ["<s>"]], ids=["plain", "with a first token"])
def test_likelihoods_are_of_text_where_it_does_not(start: list[str]) -> None:
    def echo_text(request: Asked) -> Reply:
        tokens = [*start, "Two", " and", " two", "? f", "our", "!"]
        offsets = [sum(map(len, tokens[:n])) for n in range(len(tokens))]
        logprobs = [None, *(-0.5 for _ in tokens[1:])]
        tops = [None, *({"x": -0.5} for _ in tokens[1:])]
        return completion(
            "", tokens=tokens, text_offset=offsets, token_logprobs=logprobs, top_logprobs=tops
        )

    item = Item("1", "Two and two?", choices=(" four",))
    with ScriptedServer(echo_text) as server:
        response = ask(server.url, LIKELIHOOD, item)
    assert server.asked[0].body["prompt"] == "Two and two? four"
    # "? f" stands across the border, and counts; "!" was made by the model.
    assert response.likelihoods == (Likelihood(-1.0, 2, True),)


@pytest.mark.parametrize(
    "logprobs", [{}, {"token_logprobs": [None, -1.0]}, {"token_logprobs": [None] * 6}]
)
def test_likelihoods_that_are_not_told_are_the_items_error(logprobs: dict[str, Any]) -> None:
    with (
        ScriptedServer(
            lambda request: completion("", **logprobs), at_root={"/tokenize": tokenize}
        ) as server,
        pytest.raises(ModelServerError, match="no proper OpenAI-style answer"),
    ):
        ask(server.url, LIKELIHOOD, CHOICES)


def test_log_likelihoods_are_not_asked_of_a_chat() -> None:
    with ScriptedServer() as server, pytest.raises(UsageError, match="use --completions"):
        ask(server.url, LIKELIHOOD, CHOICES, chat=True)
