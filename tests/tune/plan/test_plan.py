"""Plans as a whole, and what the command prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ragkit.cli.main import app
from ragkit.errors import RagkitError
from ragkit.model_size.hardware import GIB
from ragkit_tune.data.data_set import DataSet, write_data_set
from ragkit_tune.plan.fit import Target
from ragkit_tune.plan.make import Plan, make_plan, this_machine
from ragkit_tune.plan.text import card_rows, plan_text, step_rows
from ragkit_tune.recipe import read_recipe
from tests.core.model_size.configs import KNOWN
from tests.tune.plan.models import bert

RAM = Target(memory_bytes=16 * GIB, on_gpu=False)
PAIR = {
    **{"id": "a", "query": "What?", "positive": "That."},
    **{"document": "file:a", "start": 0, "end": 5},
}
CHAT = {"id": "a", "messages": [{"role": "user", "content": "What?"}]}


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A folder with nothing of a model but its configuration."""
    (tmp_path / "m").mkdir()
    (tmp_path / "m/config.json").write_text(json.dumps(bert(6, 384, 30522)))
    return tmp_path / "m"


@pytest.fixture
def data(tmp_path: Path) -> DataSet:
    return write_data_set(tmp_path / "data", "pairs", {"train": [PAIR] * 100}, {})


def make(base: Path, data: DataSet, target: Target = RAM, **values: Any) -> Plan:
    recipe = read_recipe(
        None, kind="embedder", base=str(base), data=str(data.folder), **{"negatives": 0, **values}
    )
    return make_plan(recipe, data, target, flop_per_s=1e12, watts=300, price=2.0)


def test_a_plan_fills_the_recipe_in(base: Path, data: DataSet) -> None:
    made = make(base, data, max_tokens=128, epochs=2.0)
    assert (made.recipe.micro_batch, made.recipe.checkpointing) == (32, "off")
    assert (made.recipe.bits, made.recipe.sharding) == (16, "ddp")
    assert made.steps == 6  # 200 rows, 6.25 batches
    assert made.step_tokens == 2 * 32 * 128
    # 6 P + 12 L h s a token, P = 6 x 12 x 384 x 384 and some.
    assert made.operations / made.steps == pytest.approx(8192 * 67.4e6, rel=0.01)
    assert made.duration_s == pytest.approx(made.operations / 1e12)
    assert made.cost.kilowatt_hours == pytest.approx(300 * made.operations / 1e12 / 3.6e6)
    assert made.choice is not None
    assert made.peak_bytes == made.choice.memory.peak
    assert made.notes == ("no tokenizer.json at hand: every row is taken as 128 tokens",)


def test_memory_is_given_back_at_once_where_less_than_twice_the_peak_is_free(
    base: Path, data: DataSet
) -> None:
    roomy = make(base, data, max_tokens=128)
    assert not roomy.compact
    few = GIB // 2 + roomy.peak_bytes * 3 // 2  # half a GiB is for the process
    tight = make(base, data, Target(memory_bytes=few, on_gpu=False), max_tokens=128)
    assert tight.recipe == roomy.recipe
    assert tight.compact
    assert tight.notes[-1].startswith("less than twice the peak is free: memory is given back")
    assert not make(base, data, Target(memory_bytes=few, on_gpu=True), max_tokens=128).compact


def test_steps_replace_epochs_and_minutes_bound_the_time(base: Path, data: DataSet) -> None:
    made = make(base, data, steps=1_000_000, minutes=2.0)
    assert made.steps == 1_000_000
    assert made.duration_s == 120


def test_what_cannot_fit_says_what_would(base: Path, data: DataSet) -> None:
    made = make(base, data, Target(memory_bytes=int(0.85 * GIB), on_gpu=False))
    assert made.choice is None
    assert made.remedy == (
        f"nothing fits: a step of {base} needs 0.4 GiB at least, and 0.3 GiB are free for it:"
        " set -o parameters=lora"
    )
    nothing = make(base, data, Target(memory_bytes=GIB // 2, on_gpu=False))
    assert nothing.remedy.endswith("take more memory, more GPUs, or a smaller model")
    fixed = make(base, data, Target(memory_bytes=int(1.2 * GIB), on_gpu=False), checkpointing="off")
    assert fixed.choice is not None
    assert fixed.notes[1] == (
        f"mnrl of 32 rows is made in parts of {fixed.recipe.micro_batch}, which takes a third more"
        " time"
    )


def test_the_lines_of_a_plan(base: Path, data: DataSet) -> None:
    made = make(base, data, max_tokens=128)
    lines = plan_text(made).splitlines()
    assert lines[1] == "  22,713,216 parameters, 6 layers of 384"
    assert "  100 rows; longest, in tokens: 128, 128" in lines
    assert "  step: 32 rows = 32 at once" in lines
    assert [name for name, _ in step_rows(made)][-1] == "peak, by formula"
    assert all(len(row) == 6 for row in card_rows(made))


def few_passages(folder: Path) -> DataSet:
    rows = [{**PAIR, "id": f"r{n}", "query": f"q{n}", "positive": f"p{n % 9}"} for n in range(60)]
    return write_data_set(folder / "few", "pairs", {"train": rows}, {})


def test_the_plan_counts_batches_of_different_passages(base: Path, tmp_path: Path) -> None:
    data = few_passages(tmp_path)
    made = make(base, data, epochs=3.0)
    assert (made.recipe.batch, made.recipe.micro_batch, made.steps) == (9, 9, 20)
    assert "batches of 9 rows: the rows have too few different passages for 32" in made.notes
    assert "  step: 9 rows = 9 at once" in plan_text(made).splitlines()
    scored = make(base, data, loss="kl")  # whose batches may have a passage twice
    assert (scored.recipe.batch, scored.steps) == (32, 6)
    fixed = make(base, data, micro_batch=16)
    assert (fixed.recipe.batch, fixed.recipe.micro_batch) == (9, 9)
    small = make(base, write_data_set(tmp_path / "s", "pairs", {"train": [PAIR] * 20}, {}))
    assert small.recipe.batch == 20


def test_rows_are_as_long_as_the_model_reads(base: Path, data: DataSet) -> None:
    assert make(base, data).lengths.columns[0].tokens == (512,)
    (base / "sentence_bert_config.json").write_text('{"max_seq_length": 128}')
    assert make(base, data).lengths.columns[0].tokens == (128,)
    assert make(base, data, max_tokens=64).lengths.columns[0].tokens == (64,)


def test_this_machine_has_memory() -> None:
    machine = this_machine()
    assert machine.memory_bytes > 2**28


def run(*options: str, code: int = 0) -> Result:
    done = CliRunner().invoke(app, ["tune", "plan", *options])
    assert done.exit_code == code, done.output
    return done


def test_the_command(base: Path, data: DataSet) -> None:
    common = ("embedder", "--base", str(base), "--data", str(data.folder))
    printed = run(*common, "--ram", "16GB", "--speed", "0.05").stdout
    assert "50 GFLOP/s (given)" in printed
    assert "time: not known" not in printed
    assert "24 GB" not in printed
    assert "Which graphics cards would do: add --gpu 24GB, or --gpus 2" in printed
    unknown = run(*common, "--ram", "16GB").stdout
    assert "  time: not known before a probe; add --probe (about a minute)" in unknown
    cards = run(*common, "--gpu", "24GB").stdout
    assert "full fsdp" in cards
    assert cards.splitlines()[-3:] == [
        "full: all weights are trained; lora: small matrices beside them, the rest is frozen",
        "ddp: each card holds the whole model; zero1, zero2, zero3, fsdp: the cards share it",
        "c: with checkpointing, which saves memory for a third more time; no: not even one row",
    ]
    assert max(map(len, printed.splitlines()[2:])) <= 100
    values = json.loads(run(*common, "--ram", "16GB", "--json").stdout)
    assert values["fits"]
    assert len(values["cards"]) == 16
    assert values["step"]["peak_bytes"] == values["step"]["peak"]
    assert values["seconds"] is None
    failed = run(*common, "--ram", "0.6GB", code=1)
    assert failed.stderr.splitlines()[0].startswith("nothing fits: a step of ")


def test_an_epoch_of_grpo_has_the_answers_that_are_drawn(base: Path, tmp_path: Path) -> None:
    chat = write_data_set(tmp_path / "chat", "chat", {"train": [CHAT] * 24}, {})
    (base / "config.json").write_text(json.dumps(KNOWN["Qwen/Qwen2.5-7B"].config))
    common = ("adapter", "--base", str(base), "--data", str(chat.folder), "--gpu", "80GB", "--json")
    options = ("-o", "epochs=1", "-o", "max_tokens=512")
    assert json.loads(run(*common, *options).stdout)["steps"] == 1  # of 24 rows
    drawn = json.loads(run(*common, *options, "--method", "grpo").stdout)
    assert (drawn["steps"], drawn["recipe"]["batch"]) == (6, 32)  # 24 x 8 answers


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("foo",), "kind = 'foo' is not known"),
        (("embedder", "-o", "kind=foo"), "kind = 'foo' is not known"),
        (("embedder", "-o", "kind=reranker"), "the recipe is of kind 'reranker': use it with"),
        (("embedder", "-o", "base=nobody/nothing"), "the configuration of nobody/nothing is not"),
        (("embedder", "-o", "bathc=16"), "unknown key 'bathc': do you mean batch?"),
        (("adapter",), "--base is missing: name the language model to train"),
    ],
)
def test_an_option_that_is_wrong_or_twice_is_one_line(
    data: DataSet, words: tuple[str, ...], reason: str
) -> None:
    done = CliRunner().invoke(app, ["tune", "plan", *words, "--data", str(data.folder)])
    assert isinstance(done.exception, RagkitError)
    assert reason in str(done.exception)


def test_the_command_plans_adapters(base: Path, tmp_path: Path) -> None:
    chat = write_data_set(tmp_path / "chat", "chat", {"train": [CHAT] * 64}, {})
    (base / "config.json").write_text(json.dumps(KNOWN["Qwen/Qwen2.5-7B"].config))
    common = ("adapter", "--base", str(base), "--data", str(chat.folder), "-o", "max_tokens=1024")
    values = json.loads(run(*common, "--gpu", "24GB", "--json").stdout)
    assert values["recipe"]["parameters"] == "lora"
    assert (values["recipe"]["bits"], values["recipe"]["checkpointing"]) == (16, "on")
    less = json.loads(run(*common, "--gpu", "16GB", "--json").stdout)
    assert less["recipe"]["bits"] == 4
    assert less["notes"][-1] == "4 bits instead of 16, which do not fit"
    least = run(*common, "--gpu", "8GB", code=1).stderr.splitlines()[0]
    assert least.endswith(
        "needs 8.0 GiB at least, and 7.0 GiB are free for it: set -o max_tokens=512, with rows made"
        " by `ragkit tune data --max-tokens 512`"
    )
    full = run(*common, "--gpu", "48GB", "-o", "parameters=full", code=1).stderr
    assert full.splitlines()[0].endswith("GiB are free for it: set -o parameters=lora")


def test_the_model_in_use_is_planned_unless_another_is_named(
    base: Path, data: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGKIT_EMBED_MODEL", str(base))
    words = ("embedder", "--data", str(data.folder), "--ram", "16GB", "--json")
    assert json.loads(run(*words).stdout)["recipe"]["base"] == str(base)
    missing = run("adapter", "--data", str(data.folder), code=1)
    assert "--base is missing" in str(missing.exception)
