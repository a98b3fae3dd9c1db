"""What the clients of embedding and reranking servers say is told in Chinese, too."""

import re

import httpx
import pytest

from ragkit.cli.words import sentence
from ragkit.errors import ModelServerError
from ragkit.model.embedding_server import EmbeddingServer
from ragkit.model.failover import Tries
from ragkit.rerank.server import ServerReranker

ONCE = Tries(rounds=1)
REPLIES: list[httpx.Response | Exception] = [
    httpx.Response(400, json={"error": {"message": "too long"}}),
    httpx.Response(401),
    httpx.Response(404, text="no"),
    httpx.Response(429, headers={"retry-after": "30"}),
    httpx.Response(500, text="oops"),
    httpx.Response(503),
    httpx.Response(200, text="<html>"),
    httpx.ConnectError("refused"),
    httpx.RemoteProtocolError("gone"),
    httpx.ReadTimeout("silence"),
    httpx.UnsupportedProtocol("ftp"),
]


@pytest.mark.parametrize("reply", REPLIES, ids=repr)
@pytest.mark.parametrize("kind", ["embedding", "reranker"])
def test_every_failure_of_a_server_is_told_in_chinese(
    kind: str, reply: httpx.Response | Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(reply, Exception):
            raise reply
        return reply

    transport = httpx.MockTransport(answer)
    embedder = EmbeddingServer("http://host/v1", tries=ONCE, transport=transport)
    reranker = ServerReranker("http://host/rerank", tries=ONCE, transport=transport)
    ask = (lambda: embedder.embed("m", ["a"])) if kind == "embedding" else reranker.load
    with pytest.raises(ModelServerError) as caught:
        ask()
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    line = sentence(str(caught.value))
    assert line.startswith("向量服务器 http://host/v1 " if kind == "embedding" else "重排服务器 ")
    quoted = re.sub(r"（.*）", "", line)  # a server's own words stay
    assert not re.search(r"[a-z]{3,} [a-z]{3,}", quoted.replace("OpenAI", ""))
