"""An adapter as `ragkit tune` writes it, served by the real vLLM beside its base.

The base knows four answers by heart, and the adapter learns others to the same questions: a server
that leaves the adapter out, or a part of it, answers as the base does.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ragkit_tune.data.data_set import write_data_set
from tests.commands import Commands
from tests.serve.vllm.memorised import ANSWERS, make_memorised_llama
from tests.serve.vllm.served import Served, served, vllm_python

pytestmark = pytest.mark.vllm

NAME = "voice"
PROMPTS = "0123456789ab-1"  # a version that no prompts have now
QUESTIONS = tuple(ANSWERS)
# Each question gets the answer of another one: all are made of tokens that the base can write.
LEARNT = dict(zip(QUESTIONS, [ANSWERS[QUESTIONS[n - 1]] for n in range(4)], strict=True))
UNKNOWN = ("Who approves annual leave?", "出差有多少天？")  # neither was trained on them
TOKENS = 24


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import torch

    vllm_python()
    folder = tmp_path_factory.mktemp("models") / "tiny"
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # two wait for each other most of the time
    make_memorised_llama(folder)
    torch.set_num_threads(threads)
    return folder


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train it by the command, and return its folder."""
    folder = tmp_path_factory.mktemp("tuned")
    rows = [
        {
            "id": f"r{n}",
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": LEARNT[question]},
            ],
            "sources": [],
            "prompt": PROMPTS,
            "group": f"g{n}",
        }
        for n, question in enumerate(QUESTIONS)
    ]
    card: dict[str, Any] = {"collection": "c", "prompts": [PROMPTS]}
    write_data_set(folder / "rows", "chat", {"train": rows, "dev": rows}, card)
    ragkit = Commands("postgresql://nobody@localhost:1/none", folder)
    ragkit.environment["RAGKIT_HOME"] = str(folder / "home")
    values = {
        "batch": 4, "steps": 80, "learning_rate": 5e-3, "max_tokens": 128, "rank": 8,
        "evaluate_every": 40, "weight_decay": 0, "precision": "fp32",
    }  # fmt: skip
    options = [part for name, value in values.items() for part in ("-o", f"{name}={value}")]
    named = ["--base", str(base), "--data", str(folder / "rows"), "--name", NAME, "--no-proof"]
    made = ragkit.json("tune", "adapter", *named, *options)
    assert made["state"] == "finished"
    return Path(made["folder"]) / "model"


@pytest.fixture(scope="module")
def server(base: Path, adapter: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    options = ("--port", 0, "--max-num-seqs", 4, "--dtype", "float32")
    with served(base, folder, *options, "--lora", f"{NAME}={adapter}") as running:
        yield running


@pytest.fixture
def client(server: Served) -> Iterator[httpx.Client]:
    with server.client() as opened:
        yield opened


def served_tokens(client: httpx.Client, name: str, question: str) -> tuple[list[int], list[int]]:
    """Ask the server; return the tokens of the prompt and of the answer."""
    body = {
        "model": name, "messages": [{"role": "user", "content": question}], "temperature": 0,
        "max_tokens": TOKENS, "return_token_ids": True,
    }  # fmt: skip
    response = client.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    told = response.json()
    return told["prompt_token_ids"], told["choices"][0]["token_ids"]


def own_tokens(model: Any, tokenizer: Any, question: str) -> tuple[list[int], list[int]]:
    """Ask transformers; return the tokens of the prompt and of the answer."""
    chat = [{"role": "user", "content": question}]
    text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    inputs = tokenizer(text, add_special_tokens=False, return_tensors="pt")
    written = model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)[0].tolist()
    count = inputs["input_ids"].shape[1]
    return written[:count], written[count:]


def test_the_server_writes_the_tokens_of_transformers_and_peft(
    client: httpx.Client, base: Path, adapter: Path
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(base)
    plain = AutoModelForCausalLM.from_pretrained(base)
    own = {"tiny": {q: own_tokens(plain, tokenizer, q) for q in (*QUESTIONS, *UNKNOWN)}}
    tuned = PeftModel.from_pretrained(plain, str(adapter))
    own[NAME] = {q: own_tokens(tuned, tokenizer, q) for q in (*QUESTIONS, *UNKNOWN)}
    for name, by_question in own.items():
        for question, tokens in by_question.items():
            assert served_tokens(client, name, question) == tokens, (name, question)
    for question in QUESTIONS:
        for name, expected in (("tiny", ANSWERS), (NAME, LEARNT)):
            answer = str(tokenizer.decode(own[name][question][1], skip_special_tokens=True))
            assert answer.strip() == expected[question]


def test_the_server_says_that_the_adapter_knows_other_prompts(server: Served) -> None:
    assert (
        f"ragkit: adapter {NAME} was trained with prompts of version {PROMPTS}, and they are"
        in (server.log.read_text())
    )
