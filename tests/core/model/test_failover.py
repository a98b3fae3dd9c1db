"""Several servers stand in for each other, and prompts that begin alike go to the same one."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

import pytest

from ragkit.errors import IncompleteAnswerError, ModelServerError
from ragkit.model import complete
from ragkit.model.failover import Failover, Tries, prefix_hash
from ragkit.model.served import ServedModel
from ragkit.model.server import ModelServer
from ragkit.testing.stub_server.server import Fault, Script, StubServer
from ragkit.types import Message

ASKED = [Message("user", "How long?")]
QUICK = Tries(rounds=2, backoff_s=0.01)


def servers(stack: ExitStack, *scripts: Script) -> Sequence[StubServer]:
    return [stack.enter_context(StubServer(script)) for script in scripts]


def model(those: Sequence[StubServer], **options: float) -> ServedModel:
    return ServedModel([server.url for server in those], "stub", tries=QUICK, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=401), Fault(status=404), Fault(status=429, retry_after_s=600),
        Fault(status=500), Fault(status=503), Fault(cut="reset"), Fault(cut="quiet"),
        Fault(hang=True), Fault(cut="drip"), Fault(malformed=True),
    ],
)  # fmt: skip
def test_a_request_that_has_not_begun_moves_on(fault: Fault) -> None:
    with ExitStack() as stack:
        those = servers(stack, *[lambda messages: fault] * 3)
        those[1].script = lambda messages: "Here."
        asked = model(those, timeout_s=0.3)
        assert complete(asked, ASKED) == "Here."
        counts = [len(server.chats) for server in those]
        assert complete(asked, ASKED) == "Here."
    assert max(counts) == 1
    # Those that failed rest: the second request went straight to the one that answers.
    assert [len(server.chats) for server in those] == [counts[0], 2, counts[2]]


def test_a_server_that_is_not_there_is_stood_in_for(unused_port: int) -> None:
    with StubServer(lambda messages: "Here.") as server:
        urls = [f"http://127.0.0.1:{unused_port}/v1", server.url]
        for word in "abcdef":  # some of these prefer the one that is not there
            said = complete(ServedModel(urls, "stub", tries=QUICK), [Message("user", word)])
            assert said == "Here."


def test_an_answer_that_has_begun_never_moves_on() -> None:
    with ExitStack() as stack:
        those = servers(stack, *[lambda messages: Fault(cut="reset", text="It is")] * 2)
        with pytest.raises(IncompleteAnswerError) as caught:
            complete(model(those), ASKED)
    assert caught.value.received == "It is"
    assert sum(len(server.chats) for server in those) == 1


def test_a_request_that_is_itself_wrong_is_not_passed_around() -> None:
    with ExitStack() as stack:
        those = servers(stack, *[lambda messages: Fault(status=400, message="too long")] * 2)
        with pytest.raises(ModelServerError, match="rejects the request"):
            complete(model(those), ASKED)
    assert sum(len(server.chats) for server in those) == 1


def test_when_all_fail_each_is_named() -> None:
    with ExitStack() as stack:
        those = servers(stack, lambda messages: Fault(status=503), lambda m: Fault(status=500))
        urls = [server.url.replace("http://", "http://ann:pw@") for server in those]
        with pytest.raises(ModelServerError) as caught:
            complete(ServedModel(urls, "stub", tries=QUICK), ASKED)
    message = str(caught.value)
    assert message.startswith("none of 2 language-model servers answered: ")
    problems = ("takes no more requests now (503", "failed (500")
    for url, problem in zip(urls, problems, strict=True):
        shown = url.replace("ann:pw", "***")
        assert f"{shown} {problem}; scripted fault)" in message
    assert "pw" not in message
    assert [len(server.chats) for server in those] == [2, 2]


def test_a_server_that_failed_is_tried_again_when_it_has_rested() -> None:
    pool = [ModelServer(f"http://h{n}/v1") for n in range(3)]
    failover = Failover(pool, QUICK)
    first, second, third = failover.order("prompt")
    failover._resting[first] = (1, float("inf"))
    assert failover.order("prompt") == [second, third, first]
    failover._resting[second] = (1, 1e12)
    assert failover.order("prompt") == [third, second, first]
    failover._resting[first] = (1, 0.0)  # long ago
    assert failover.order("prompt")[0] == first


def test_prompts_spread_and_losing_a_server_moves_only_its_own() -> None:
    pool = [ModelServer(f"http://h{n}/v1") for n in range(4)]
    everyone, fewer = Failover(pool, QUICK), Failover(pool[:3], QUICK)
    prompts = [f"prompt {n}" for n in range(400)]
    homes = {prompt: everyone.order(prompt)[0] for prompt in prompts}
    assert min(Counter(homes.values()).values()) > 70  # 100 each on average
    for prompt in prompts:
        if homes[prompt] != pool[3]:
            assert fewer.order(prompt)[0] == homes[prompt]


def test_the_prefix_is_the_passages_and_not_the_question() -> None:
    def prompt(passages: str, question: str) -> list[Message]:
        return [Message("system", "Rules."), Message("user", f"{passages}\n\n{question}")]

    same = prefix_hash(prompt("word " * 300, "How?"))
    assert same == prefix_hash(prompt("word " * 300, "Why?"))
    assert same != prefix_hash(prompt("other " * 300, "How?"))
    assert same != prefix_hash([Message("system", "More rules."), *prompt("word " * 300, "How?")])


def test_prompts_that_begin_alike_stay_together() -> None:
    with ExitStack() as stack:
        those = servers(stack, *[lambda messages: "Yes."] * 3)
        asked = model(those)
        for n in range(6):
            complete(asked, [Message("user", "word " * 300 + f"Question {n}?")])
    assert sorted(len(server.chats) for server in those) == [0, 0, 6]
    headers = {request.headers["x-prompt-prefix"] for s in those for request in s.chats}
    assert len(headers) == 1
