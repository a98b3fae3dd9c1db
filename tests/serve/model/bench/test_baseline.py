"""The baseline in this process: the same prompts through a tiny real model."""

from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.errors import ModelError, ModelServerError
from ragkit.model.local_generate import load, place
from ragkit_serve.model.bench.baseline import measure_baseline
from ragkit_serve.model.bench.workload import Shape, Workload, make_prompts
from tests.core.model.conftest import write_tiny_llama

SHAPE = Shape(requests=4, prefix_tokens=20, prompt_tokens=60, languages=("en",))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_tiny_llama(tmp_path_factory.mktemp("tiny"), context=1024))


def test_each_token_is_timed(model: str) -> None:
    asked = Workload(prompts=make_prompts(SHAPE), answer_tokens=9, ignore_eos=True)
    counted: list[None] = []
    got = measure_baseline(model, asked, 3, mark="x", progress=lambda: counted.append(None))
    assert (got.engine, got.level.concurrency, len(counted)) == ("transformers", 1, 3)
    assert got.summary.completed == 3
    assert [row.output_tokens for row in got.rows] == [9, 9, 9]
    for row, prompt in zip(got.rows, asked.prompts, strict=False):
        # One token a byte and one for each message's role, its line end, and the mark.
        text = sum(len(message.content) + 2 for message in prompt.messages)
        assert row.prompt_tokens == text + len("[01234567]\n") + 1
        assert len(row.gaps_s) == 8
        assert row.ttft_s is not None
        assert row.e2e_s == pytest.approx(row.ttft_s + sum(row.gaps_s))
    starts = [row.start_s for row in got.rows]
    assert starts == sorted(starts)
    assert got.summary.wall_s >= sum(row.e2e_s for row in got.rows)


def test_answers_end_where_the_model_ends_them_unless_told_otherwise(tmp_path: Path) -> None:
    folder = str(write_tiny_llama(tmp_path, context=1024))
    network = load(folder, place(None)).model
    network.generation_config.eos_token_id = list(range(1, network.config.vocab_size))
    asked = Workload(prompts=make_prompts(SHAPE), answer_tokens=5)
    got = measure_baseline(folder, asked, 1, mark="x", progress=lambda: None)
    assert [row.output_tokens for row in got.rows] == [1]
    assert [row.tpot_s for row in got.rows] == [None]
    full = measure_baseline(
        folder, replace(asked, ignore_eos=True), 1, mark="x", progress=lambda: None
    )
    assert [row.output_tokens for row in full.rows] == [5]


def test_prompts_beyond_its_context_end_it_in_one_line(model: str) -> None:
    long = Workload(prompts=make_prompts(Shape(requests=2, prompt_tokens=2000)))
    with pytest.raises(ModelServerError, match=r"context 1024: lower --prompt-tokens"):
        measure_baseline(model, long, 2, mark="x", progress=lambda: None)
    with pytest.raises(ModelError, match="does not exist"):
        measure_baseline("/no/such/model", long, 2, mark="x", progress=lambda: None)
