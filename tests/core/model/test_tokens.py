"""Tokens are counted by the best that is at hand, which is named."""

import socket
from pathlib import Path

import pytest

from ragkit.errors import ModelError
from ragkit.model.served import ServedModel
from ragkit.model.tokens import TokenCounter
from ragkit.testing.stub_server.server import StubServer
from ragkit.types import Message

TEXTS = ["one two three", "", "航空"]


def test_the_models_own_tokenizer_first(tiny_llama: Path) -> None:
    with StubServer(models=(str(tiny_llama),)) as server:
        model = ServedModel([server.url], str(tiny_llama))
        assert model.count_tokens(TEXTS) == [13, 0, 6]  # one a byte
        assert model.counting == f"the tokenizer of {tiny_llama}"
    assert server.requests == []


def test_the_settings_tokenizer_before_the_models(tiny_llama: Path) -> None:
    with StubServer() as server:
        model = ServedModel([server.url], "stub", tokenizer=str(tiny_llama))
        assert model.count_tokens(TEXTS) == [13, 0, 6]
    assert server.requests == []


def test_a_tokenizer_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="correct RAGKIT_LLM_TOKENIZER"):
        TokenCounter("stub", str(tmp_path)).count(["a"])
    with pytest.raises(ModelError, match="correct RAGKIT_LLM_TOKENIZER"):
        TokenCounter("stub", "nobody/nothing").count(["a"])
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match=r"tokenizer\.json cannot be read"):
        TokenCounter("stub", str(tmp_path)).count(["a"])


def test_the_servers_own_is_asked_once_for_each_text() -> None:
    with StubServer(api_key="key") as server:
        model = ServedModel([server.url], "stub", api_key="key")
        assert model.count_tokens(TEXTS) == [4, 0, 1]  # pieces of the stub
        assert model.count_tokens([*TEXTS, "航空"]) == [4, 0, 1, 1]
        assert model.counting == f"the tokenizer of {server.url}"
    assert [request.path for request in server.requests] == ["/tokenize"] * 3
    assert server.requests[0].body == {
        "model": "stub", "prompt": "one two three", "add_special_tokens": False,
    }  # fmt: skip
    assert server.requests[0].headers["authorization"] == "Bearer key"


def test_a_server_without_one_is_asked_once_and_the_estimate_is_named() -> None:
    with StubServer(tokenize=False) as server:
        model = ServedModel([server.url], "stub")
        assert model.count_tokens(["abcdef", "航空"]) == [2, 2]
        asked = len(server.requests)
        assert model.count_tokens(["abcdefg"]) == [3]
        assert len(server.requests) == asked
        assert model.counting == (
            f"an estimate: no tokenizer of stub is here, and the server {server.url} counts none"
        )


def test_one_server_stands_in_for_another(unused_port: int) -> None:
    with StubServer() as server:
        urls = [f"http://127.0.0.1:{unused_port}/v1", server.url]
        model = ServedModel(urls, "stub")
        assert model.count_tokens(["one two three"]) == [4]
        assert model.counting == f"the tokenizer of {server.url}"
        assert model.context_tokens() == 8192


def connections(server: socket.socket) -> int:
    """Take the connections that wait at a server, and count them."""
    count = 0
    while True:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


def test_a_server_that_is_silent_holds_nobody_up_for_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it connects, and never says a word
        silent.setblocking(False)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        model = ServedModel([url], "stub", timeout_s=0.2)
        assert model.context_tokens() is None
        assert model.count_tokens(["abcdef"]) == [2]
        asked = connections(silent)
        assert asked >= 1
        assert model.context_tokens() is None  # not asked again so soon
        assert model.count_tokens(["abcdefg"]) == [3]
        assert connections(silent) == 0


def test_context_is_the_settings_else_the_least_served_else_the_configurations(
    tiny_llama: Path,
) -> None:
    with StubServer(max_model_len=4096) as one, StubServer(max_model_len=2048) as other:
        urls = [one.url, other.url]
        assert ServedModel(urls, "stub").context_tokens() == 2048
        assert ServedModel(urls, "stub", context_tokens=512).context_tokens() == 512
        assert ServedModel(urls, "unknown").context_tokens() is None
    name = str(tiny_llama)
    with StubServer(models=(name,), max_model_len=None) as silent:
        assert ServedModel([silent.url], name).context_tokens() == 256
        assert list(ServedModel([silent.url], name).stream([Message("user", "?")]))
