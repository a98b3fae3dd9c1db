"""A real server that is asked for more than it has places and room to wait."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from pydantic import SecretStr

from ragkit import Settings
from ragkit.client import Client
from ragkit.contracts import Embedder
from ragkit.store.open import open_database
from ragkit.testing.corpus import CORPUS, fill
from ragkit.testing.stub_server.server import StubServer
from tests.serve.web.test_supervise import program, wait_for

QUESTION = "How many days of paid holiday does an employee have?"
BODY = {"model": "ragkit", "messages": [{"role": "user", "content": QUESTION}]}
PLACES, QUEUE, ASKED = 2, 4, 12


class Gate:
    """A model that answers nothing until it is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()

    def __call__(self, messages: Any) -> str:
        assert self.open.wait(60)
        return "Twenty-eight days [1]."


async def overload(url: str, gate: Gate) -> tuple[list[httpx.Response], Counter[int]]:
    """Ask until all that can wait do, then open the gate; ask `/livez` after every refusal."""
    lives: Counter[int] = Counter()
    refused = 0

    async def ask(client: httpx.AsyncClient) -> httpx.Response:
        nonlocal refused
        answer = await client.post("/v1/chat/completions", json=BODY)
        lives[(await client.get("/livez")).status_code] += 1
        if answer.status_code != 200:
            refused += 1
            if refused == ASKED - PLACES - QUEUE:
                gate.open.set()
        return answer

    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        return await asyncio.gather(*(ask(client) for _ in range(ASKED))), lives


@pytest.mark.long
def test_a_full_server_lives_and_answers_all_who_ask_again(
    fresh_database: str, loaded_embedder: Embedder, tmp_path: Path
) -> None:
    with open_database(Settings(database_url=SecretStr(fresh_database))) as database:
        fill(database.store("default"), loaded_embedder, CORPUS)
    gate = Gate()
    with (
        StubServer(gate) as stub,
        program(
            fresh_database,
            tmp_path,
            "--no-page",
            RAGKIT_LLM_URL=stub.url,
            RAGKIT_LLM_MODEL="stub",
            RAGKIT_SERVE_CONCURRENCY=str(PLACES),
            RAGKIT_SERVE_KEY_CONCURRENCY="100",
        ) as running,
    ):
        url = running.url()
        answers, lives = asyncio.run(overload(url, gate))
        assert lives == {200: ASKED}
        statuses = Counter(answer.status_code for answer in answers)
        assert statuses == {200: PLACES + QUEUE, 503: ASKED - PLACES - QUEUE}
        refused = [answer for answer in answers if answer.status_code == 503]
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        check_clients(url, gate)
        assert stub.most_running <= PLACES


def rejections(url: str) -> float:
    line = 'ragkit_rejections_total{reason="overload"} '
    text = httpx.get(f"{url}/metrics", timeout=60).text
    return float(text.partition(line)[2].split()[0])


def check_clients(url: str, gate: Gate) -> None:
    """Clients are refused, ask again when they are told to, and get all their answers."""
    gate.open.clear()
    before = rejections(url)
    with (
        Client(url, timeout_s=60) as ours,
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=20) as theirs,
        ThreadPoolExecutor(ASKED) as threads,
    ):

        def ask_ours() -> str:
            return ours.ask(QUESTION).text

        def ask_theirs() -> str:
            answer = theirs.chat.completions.create(
                model="ragkit", messages=[{"role": "user", "content": QUESTION}]
            )
            return str(answer.choices[0].message.content)

        asked = [threads.submit(ask) for ask in (ask_ours, ask_theirs) for _ in range(ASKED // 2)]
        refused = before + ASKED - PLACES - QUEUE
        wait_for("the others are refused", lambda: rejections(url) >= refused)
        gate.open.set()
        assert {future.result(120) for future in asked} == {"Twenty-eight days [1]."}
