"""What is sent to a server and read from it, and what its faults come to."""

import asyncio
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest

from ragkit.errors import ModelServerError, NotFoundError, SettingsError, UsageError
from ragkit.types import Usage
from ragkit_eval.endpoint import Endpoint, ServerGoneError
from ragkit_eval.endpoint.failures import RejectedError
from ragkit_eval.run.item import Item, Response, Task
from tests.eval.endpoint.asking import ITEM, ask
from tests.eval.endpoint.scripted import (
    Asked,
    Reply,
    Script,
    ScriptedServer,
    chat,
    completion,
    error,
    letters,
)
from tests.eval.run.fake import FakeTask

LETTER = FakeTask((ITEM,))
GENERATE = FakeTask((ITEM,), method="generate", sampling={"max_tokens": 40, "stop": ["\n"]})
CHAT = FakeTask((ITEM,), method="generate", sampling={"max_tokens": 40, "chat": True})


def sent(script: Script, task: Task = LETTER, item: Item = ITEM, **options: Any) -> list[Asked]:
    with ScriptedServer(script) as server:
        ask(server.url, task, item, **options)
        return server.asked


def answer_of(script: Script, task: Task = LETTER, **options: Any) -> Response:
    with ScriptedServer(script) as server:
        return ask(server.url, task, **options)


def in_turn(*replies: Reply) -> Script:
    """Answer the first request with the first reply, and so on; the last for all others."""
    return lambda request: replies[min(request.number, len(replies)) - 1]


def test_a_letter_is_one_request_for_one_token_and_its_candidates() -> None:
    (request,) = sent(in_turn(letters(_A=-2.0, _B=-0.5)))
    assert request.path == "/v1/completions"
    assert request.body == {
        "model": "tiny",
        "prompt": "Two and two?\nAnswer:",
        "temperature": 0,
        "seed": 0,
        "max_tokens": 1,
        "logprobs": 20,
    }


def test_candidates_come_best_first() -> None:
    response = answer_of(in_turn(letters(_A=-2.0, _B=-0.5, B=-1.0)))
    assert response.top == ((" B", -0.5), ("B", -1.0), (" A", -2.0))
    assert response.usage == Usage(7, 1)
    assert 0 < response.latency_s < 5


def test_a_letter_is_asked_of_a_chat() -> None:
    first = [{"token": "A", "logprob": -1.5}, {"token": "B", "logprob": -0.25}]
    reply = chat(
        "B", logprobs={"content": [{"token": "B", "logprob": -0.25, "top_logprobs": first}]}
    )
    with ScriptedServer(in_turn(reply)) as server:
        response = ask(server.url, chat=True)
    (request,) = server.asked
    assert request.path == "/v1/chat/completions"
    assert request.body["messages"] == [{"role": "user", "content": "Two and two?\nAnswer:"}]
    assert (request.body["logprobs"], request.body["top_logprobs"]) == (True, 20)
    assert response.top == (("B", -0.25), ("A", -1.5))


def test_a_server_that_allows_fewer_candidates_is_asked_for_fewer_from_then_on() -> None:
    def capped(request: Asked) -> Reply:
        if request.body["logprobs"] > 5:
            return error(400, "Requested sample logprobs of 20, which is greater than max: 5")
        return letters(_A=-0.1)

    async def twice(url: str) -> None:
        async with Endpoint.open(url, "tiny") as endpoint:
            answer = endpoint.ask_for(LETTER)
            await answer(ITEM)
            await answer(ITEM)

    with ScriptedServer(capped) as server:
        asyncio.run(twice(server.url))
    assert [request.body["logprobs"] for request in server.asked] == [20, 5, 5]


def test_a_server_without_log_probabilities_leaves_the_text() -> None:
    response = answer_of(in_turn(completion(" B")))
    assert (response.text, response.top) == (" B", ())


def test_generating_sends_the_tasks_sampling_and_says_how_it_ended() -> None:
    cut: dict[str, Any] = {"choices": [{"text": " four", "finish_reason": "length"}]}
    with ScriptedServer(in_turn(Reply(cut))) as server:
        response = ask(server.url, GENERATE, seed=7)
    assert server.asked[0].body == {
        "model": "tiny",
        "prompt": "Two and two?\nAnswer:",
        "temperature": 0,
        "seed": 7,
        "max_tokens": 40,
        "stop": ["\n"],
    }
    assert (response.text, response.finish, response.usage) == (" four", "length", None)


def test_a_conversation_has_the_models_own_earlier_answers() -> None:
    talk = Item("1", "A haiku?", turns=("In French.", "Shorter."))
    replies = [chat(text) for text in ("Snow falls.", "Il neige.", "Neige.")]
    for count, reply in enumerate(replies, 1):
        reply.body["usage"] = {"prompt_tokens": 10 * count, "completion_tokens": count}
    replies[1].body["choices"][0]["finish_reason"] = "length"
    with ScriptedServer(in_turn(*replies)) as server:
        response = ask(server.url, CHAT, talk)
    assert [request.path for request in server.asked] == 3 * ["/v1/chat/completions"]
    assert server.asked[0].body["messages"] == [{"role": "user", "content": "A haiku?"}]
    assert server.asked[2].body["messages"] == [
        {"role": "user", "content": "A haiku?"},
        {"role": "assistant", "content": "Snow falls."},
        {"role": "user", "content": "In French."},
        {"role": "assistant", "content": "Il neige."},
        {"role": "user", "content": "Shorter."},
    ]
    assert {request.body["max_tokens"] for request in server.asked} == {40}
    assert (response.text, response.finish) == ("Neige.", "length")
    assert response.detail == {"answers": ["Snow falls.", "Il neige.", "Neige."]}
    assert response.usage == Usage(60, 6, None)


def test_a_conversation_is_no_completion() -> None:
    talk = Item("1", "A haiku?", turns=("In French.",))
    with ScriptedServer() as server, pytest.raises(UsageError) as caught:
        ask(server.url, CHAT, talk, chat=False)
    assert str(caught.value) == (
        "fake is a conversation, which completions lack: leave out --completions"
    )
    assert server.asked == []


def test_a_turn_without_an_answer_fails_the_item() -> None:
    talk = Item("1", "A haiku?", turns=("In French.",))
    with pytest.raises(ModelServerError, match="rejects the request"):
        sent(in_turn(chat("Snow."), error(400, "no")), CHAT, talk)


def test_a_chat_keeps_the_thinking_apart() -> None:
    reply = chat(None)
    reply.body["choices"][0]["message"]["reasoning_content"] = "Two and two are"
    response = answer_of(in_turn(reply), CHAT)
    assert (response.text, response.detail) == ("", {"reasoning": "Two and two are"})


def test_the_options_take_the_place_of_the_tasks_own() -> None:
    (request,) = sent(in_turn(completion("4")), CHAT, chat=False, special_tokens=False)
    assert request.path == "/v1/completions"
    assert request.body["add_special_tokens"] is False


def test_half_a_surrogate_pair_is_replaced() -> None:
    raw = '{"choices": [{"text": "\\ud83d!", "finish_reason": "stop"}]}'
    assert answer_of(in_turn(Reply(raw)), GENERATE).text == "?!"


# Faults


@pytest.mark.parametrize(
    "fault",
    [
        error(429, "slow down"),
        error(500, "oops"),
        error(503, "queue full"),
        Reply(drop=True),
        Reply("{'no': json"),
        Reply("[1, 2]"),
    ],
    ids=["429", "500", "503", "dropped", "no JSON", "a list"],
)
def test_what_may_pass_is_tried_again(fault: Reply) -> None:
    with ScriptedServer(in_turn(fault, fault, letters(_B=-0.5))) as server:
        assert ask(server.url).top == ((" B", -0.5),)
    assert server.count == 3


def test_retry_after_is_honoured() -> None:
    with ScriptedServer(
        in_turn(error(429, "later", Retry_After="0.3"), letters(_B=-1.0))
    ) as server:
        began = time.monotonic()
        ask(server.url)
        assert 0.3 <= time.monotonic() - began < 60


def test_tries_are_bounded() -> None:
    with (
        ScriptedServer(in_turn(error(500, "CUDA is unhappy"))) as server,
        pytest.raises(ModelServerError, match=r"failed \(500; CUDA is unhappy\): see its log"),
    ):
        ask(server.url)
    assert server.count == 4


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (error(400, "unknown field x"), r"rejects the request \(400; unknown field x\)"),
        (
            error(400, "This model's maximum context length is 10 tokens."),
            r"too short a context for this prompt \(400; This model's maximum context length is 10",
        ),
        (Reply({"detail": [{"msg": "bad"}]}, 422), r"rejects the request \(422\)"),
        (Reply("", 302, {"Location": "http://127.0.0.1:9/"}), r"rejects the request \(302\)"),
    ],
)
def test_what_will_not_pass_is_the_items_error_at_once(fault: Reply, match: str) -> None:
    with ScriptedServer(in_turn(fault)) as server, pytest.raises(RejectedError, match=match):
        ask(server.url, GENERATE)
    assert server.count == 1


def test_an_answer_of_another_shape_is_the_items_error() -> None:
    with (
        ScriptedServer(in_turn(Reply({"object": "odd"}))) as server,
        pytest.raises(ModelServerError, match=r"no proper .* answer \(KeyError: 'choices'"),
    ):
        ask(server.url)


def test_a_slow_answer_is_given_up() -> None:
    slow = Reply({}, delay_s=30)
    with (
        ScriptedServer(in_turn(slow)) as server,
        pytest.raises(ModelServerError, match=r"gave no answer within 0\.2 s"),
    ):
        ask(server.url, timeout_s=0.2)
    assert server.count == 2


@pytest.mark.parametrize(
    ("fault", "match"),
    [
        (error(401, "no"), "denies access"),
        (error(404, "The model `tiny` does not exist."), "no such path or model"),
    ],
)
def test_what_no_item_would_pass_is_no_items_error(fault: Reply, match: str) -> None:
    with ScriptedServer(in_turn(fault)) as server, pytest.raises(ServerGoneError, match=match):
        ask(server.url)


def test_a_server_that_goes_away_meanwhile_is_no_items_error() -> None:
    async def asked_twice() -> None:
        with ScriptedServer() as server:
            opened = Endpoint.open(server.url, "tiny", tries=3, backoff_s=0.001)
            endpoint = await opened.__aenter__()
            answer = endpoint.ask_for(LETTER)
            await answer(ITEM)
        with pytest.raises(ServerGoneError, match="refuses connections"):
            await answer(ITEM)
        await opened.__aexit__(None, None, None)

    asyncio.run(asked_twice())


def test_a_key_is_sent_and_never_shown() -> None:
    with (
        ScriptedServer(in_turn(error(400, "bad key sk-secret"))) as server,
        pytest.raises(ModelServerError) as caught,
    ):
        ask(server.url, GENERATE, api_key="sk-secret")
    assert server.asked[0].headers["Authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in str(caught.value)
    assert "***" in str(caught.value)


def test_a_password_in_the_address_is_sent_and_never_shown() -> None:
    with ScriptedServer(in_turn(error(400, "no"))) as server:
        url = server.url.replace("http://", "http://me:secret@")
        with pytest.raises(ModelServerError) as caught:
            ask(url, GENERATE, api_key="sk-secret")
    assert server.asked[0].headers["Authorization"] == "Basic bWU6c2VjcmV0"
    assert "secret" not in str(caught.value)


def test_a_cancelled_question_leaves_no_connection() -> None:
    async def given_up(server: ScriptedServer) -> None:
        async with Endpoint.open(server.url, "tiny") as endpoint:
            asking = asyncio.create_task(_awaited(endpoint))
            await _until(lambda: server.running == 1)
            asking.cancel()
            await _until(lambda: server.left == 1)

    async def _awaited(endpoint: Endpoint) -> Response:
        return await endpoint.ask_for(LETTER)(ITEM)

    with ScriptedServer(in_turn(Reply({}, delay_s=60))) as server:
        asyncio.run(given_up(server))


async def _until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.005)


# Before anything is asked


def test_a_server_that_is_away_is_said_in_one_line() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(ServerGoneError) as caught:
        ask(f"http://127.0.0.1:{port}/v1")
    assert str(caught.value) == (
        f"language-model server http://127.0.0.1:{port}/v1 refuses connections: start it, or"
        " correct --url"
    )


def test_a_model_that_is_not_served_is_said_with_those_that_are() -> None:
    with (
        ScriptedServer(models=("llama", "qwen")) as server,
        pytest.raises(NotFoundError, match="serves no model 'tiny'; it has llama, qwen"),
    ):
        ask(server.url)


def test_what_is_no_url_is_refused() -> None:
    with pytest.raises(SettingsError, match="is not one"):
        ask("127.0.0.1:8000")


def test_the_only_model_needs_no_name_and_the_server_tells_of_itself() -> None:
    async def about(url: str) -> tuple[str, Any]:
        async with Endpoint.open(url) as endpoint:
            return endpoint.model, endpoint.about

    version = {"/version": lambda body: Reply({"version": "0.32.0"})}
    with ScriptedServer(at_root=version) as server:
        description = asyncio.run(about(server.url))
    assert description == ("tiny", {"max_model_len": 4096, "server": "vllm 0.32.0"})


def test_a_task_over_a_collection_is_refused() -> None:
    with (
        ScriptedServer() as server,
        pytest.raises(UsageError, match="use 'ragkit eval rag' instead of 'run'"),
    ):
        ask(server.url, FakeTask((ITEM,), method="rag"))


def test_a_candidate_that_is_no_number_is_the_items_error() -> None:
    raw = '{"choices": [{"text": "A", "logprobs": {"top_logprobs": [{"A": NaN}]}}]}'
    with (
        ScriptedServer(in_turn(Reply(raw))) as server,
        pytest.raises(ModelServerError, match="a log-probability is NaN"),
    ):
        ask(server.url)
