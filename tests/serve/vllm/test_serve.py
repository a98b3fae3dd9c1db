"""`ragkit model serve` with the real vLLM and a tiny Llama that knows four answers by heart."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragkit_models.serve import vllm
from ragkit_models.serve.options import Adapter, ServeOptions
from tests.serve.vllm.memorised import ANSWERS
from tests.serve.vllm.served import Served, served, vllm_python

pytestmark = pytest.mark.vllm

QUESTION = "Who approves travel?"
NO_END: dict[str, Any] = {"ignore_eos": True}


@pytest.fixture(scope="session")
def model(memorised: Path) -> Path:
    vllm_python()
    return memorised


@pytest.fixture(scope="session")
def server(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    adapter = f"law={model.with_name('adapter')}"
    folder = tmp_path_factory.mktemp("served")
    with served(model, folder, "--port", 0, "--max-num-seqs", 8, "--lora", adapter) as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened


def body(question: str = QUESTION, **options: Any) -> dict[str, Any]:
    plain = {"model": "tiny", "temperature": 0, "max_tokens": 60}
    return {**plain, "messages": [{"role": "user", "content": question}], **options}


def ask(client: httpx.Client, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    response = client.post("/v1/chat/completions", json=body(question, **options))
    assert response.status_code == 200, response.text
    choice: dict[str, Any] = response.json()["choices"][0]
    return choice


def events(lines: Iterator[str]) -> Iterator[str]:
    """Give the pieces of a streamed answer, then "[DONE]" if that came."""
    for line in lines:
        said = line.removeprefix("data: ")
        if said == "[DONE]":
            yield said
        elif said.startswith("{"):
            event = json.loads(said)
            assert "error" not in event, event
            for choice in event["choices"]:
                yield choice["delta"].get("content") or ""


def no_white_space(model: Path) -> dict[str, float]:
    """Bar the tokens that begin with white space: JSON may hold it without end."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    ids = range(2, tokenizer.get_vocab_size())
    return {str(one): -100.0 for one in ids if tokenizer.decode([one])[:1].isspace()}


def metric(client: httpx.Client, name: str) -> float:
    found = re.search(rf"^vllm:{name}\{{.*\}} (\S+)$", client.get("/metrics").text, re.M)
    assert found is not None
    return float(found[1])


@pytest.mark.parametrize("question", ANSWERS)
def test_it_answers_word_for_word(client: httpx.Client, question: str) -> None:
    choice = ask(client, question)
    assert choice["message"]["content"] == ANSWERS[question]
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("question", ANSWERS)
def test_it_streams(client: httpx.Client, question: str) -> None:
    with client.stream("POST", "/v1/chat/completions", json=body(question, stream=True)) as told:
        *pieces, last = events(told.iter_lines())
    assert "".join(pieces) == ANSWERS[question]
    assert len(pieces) > 3
    assert last == "[DONE]"


def test_it_stops_where_it_is_told(client: httpx.Client) -> None:
    choice = ask(client, stop=["travel"])
    assert choice["message"]["content"] == "Your manager approves "
    assert (choice["finish_reason"], choice["stop_reason"]) == ("stop", "travel")


def test_the_same_seed_gives_the_same_text_and_another_does_not(client: httpx.Client) -> None:
    hot = {"temperature": 2.0, **NO_END}  # beyond what it learnt, no token is certain
    texts = [ask(client, seed=seed, **hot)["message"]["content"] for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_its_output_keeps_to_a_schema(client: httpx.Client, model: Path) -> None:
    schema = {
        "type": "object",
        "properties": {"days": {"type": "integer", "maximum": 99}, "paid": {"type": "boolean"}},
        "required": ["days", "paid"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "leave", "schema": schema}}
    choice = ask(client, response_format=wanted, max_tokens=100, logit_bias=no_white_space(model))
    value = json.loads(choice["message"]["content"])
    assert value.keys() == {"days", "paid"}
    assert (type(value["days"]), type(value["paid"])) == (int, bool)


def test_its_output_keeps_to_a_regular_expression(client: httpx.Client) -> None:
    regex = r"(yes|no): [0-9]{4}"
    said = ask(client, structured_outputs={"regex": regex})["message"]["content"]
    assert re.fullmatch(regex, said)


def test_it_tells_log_probabilities(client: httpx.Client) -> None:
    first = ask(client, logprobs=True, top_logprobs=2)["logprobs"]["content"][0]
    assert -0.5 < first["logprob"] <= 0  # learnt by heart
    best, second = first["top_logprobs"]
    assert best["token"] == first["token"]
    assert second["logprob"] < first["logprob"]


def test_an_adapter_answers_under_its_name(client: httpx.Client) -> None:
    names = {one["id"]: one["parent"] for one in client.get("/v1/models").json()["data"]}
    assert names == {"tiny": None, "law": "tiny"}
    assert ask(client, model="law")["message"]["content"] != ANSWERS[QUESTION]
    assert ask(client)["message"]["content"] == ANSWERS[QUESTION]
    response = client.post("/v1/chat/completions", json=body(model="other"))
    assert response.status_code == 404


def test_usage_tells_what_came_from_the_prefix_cache(client: httpx.Client) -> None:
    question = "approves travel " * 100  # above 128 tokens, a block on a CPU: blocks are kept
    cached = [
        client.post("/v1/chat/completions", json=body(question)).json()["usage"][
            "prompt_tokens_details"
        ]["cached_tokens"]
        for _ in range(2)
    ]
    assert cached[0] < cached[1]


@pytest.mark.parametrize("key", ["", "sk-wrong"])
def test_without_the_key_it_says_nothing(server: Served, key: str) -> None:
    with server.client(key=key) as stranger:
        assert stranger.get("/v1/models").status_code == 401
        assert stranger.post("/v1/chat/completions", json=body()).status_code == 401


def test_the_key_is_in_no_command_line_and_in_no_log(server: Served) -> None:
    key = server.ready()[0]["api_key"]
    assert len(key) == 43
    assert not any(key in line for line in server.descendants().values())
    assert key not in server.log.read_text()


def test_a_closed_connection_frees_its_slot(server: Served, client: httpx.Client) -> None:
    answers, tokens = 16, 450
    long = body(stream=True, max_tokens=tokens, n=answers, temperature=1, **NO_END)
    before = metric(client, "generation_tokens_total")
    engine = server.engine()
    deadline = time.monotonic() + 120
    # The engine stands still from before the request, and then amid the answers: on a busy machine
    # all of them would be written before the HTTP server sends the head, sends the first piece, or
    # sees that the connection is closed.
    os.kill(engine, signal.SIGSTOP)
    try:
        with client.stream("POST", "/v1/chat/completions", json=long) as told:
            # vLLM may count the first tokens before it counts the requests that run.
            while metric(client, "generation_tokens_total") == before or not metric(
                client, "num_requests_running"
            ):
                assert time.monotonic() < deadline
                os.kill(engine, signal.SIGCONT)
                time.sleep(0.005)
                os.kill(engine, signal.SIGSTOP)
            next(events(told.iter_lines()))
        for _ in range(10):  # turns in which the HTTP server sees the end
            assert client.get("/v1/models").status_code == 200
    finally:
        os.kill(engine, signal.SIGCONT)
    while metric(client, "num_requests_running"):
        assert time.monotonic() < deadline
    # And it was broken off: the whole answer was not written.
    assert 0 < metric(client, "generation_tokens_total") - before < answers * tokens
    assert ask(client)["message"]["content"] == ANSWERS[QUESTION]


def test_after_kill_9_of_the_engine_it_is_there_again(server: Served) -> None:
    before = len(server.ready())
    url = server.ready()[-1]["url"]
    engine = server.engine()
    subprocess.run(["kill", "-9", str(engine)], check=True)
    server.wait_ready(before + 1)
    assert server.ready()[-1]["url"] == url
    assert server.engine() != engine
    with server.client() as client:
        assert ask(client)["message"]["content"] == ANSWERS[QUESTION]
    assert re.search(r"ragkit: vllm ended with .* it starts again in 1 s", server.log.read_text())


def test_vllm_knows_every_option() -> None:
    """Its own parser reads what ragkit would start it with."""
    wanted = ServeOptions(
        model="m",
        name="m",
        key="k",
        max_model_len=100,
        max_num_seqs=2,
        gpu_memory_utilization=0.5,
        tensor_parallel_size=2,
        pipeline_parallel_size=2,
        data_parallel_size=2,
        dtype="bfloat16",
        kv_cache_dtype="fp8",
        lora=(Adapter(name="a", path="/a", rank=8),),
        speculative_ngram_tokens=3,
        structured_outputs="xgrammar",
        reasoning_parser="qwen3",
        tool_call_parser="hermes",
        chat_template=Path("/t.jinja"),
        revision="main",
        enforce_eager=True,
        trust_remote_code=True,
    )
    code = """
import sys
from vllm.entrypoints.launchers.cli_args import make_arg_parser
from vllm.utils.argparse_utils import FlexibleArgumentParser
args = make_arg_parser(FlexibleArgumentParser()).parse_args(sys.argv[1:])
print(args.max_num_queued_reqs, args.shutdown_timeout, args.enable_prefix_caching,
      args.enable_chunked_prefill, args.load_format, args.lora_modules[0].name)
"""
    done = subprocess.run(
        [vllm_python(), "-c", code, *vllm.arguments(wanted)],
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[-6:] == ["8", "15", "True", "True", "safetensors", "a"]
