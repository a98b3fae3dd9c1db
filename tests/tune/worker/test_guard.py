"""Planted faults: each ends the run with a line that names it, its rows and a remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ragkit_tune.recipe import Recipe
from tests.tune.worker.here import run_here, script, stop_of
from tests.tune.worker.tiny import largest_file, logged, pair_rows, write_encoder, write_job

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("base"))


def poisoned(base: Path, folder: Path, name: str, row: int) -> Path:
    """Copy a base with NaN in a row of a weight."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    model = AutoModel.from_pretrained(base)
    with torch.no_grad():
        model.get_parameter(name)[row] = float("nan")
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(base).save_pretrained(folder)
    return folder


def test_a_loss_that_is_not_finite_names_the_rows(tmp_path: Path, base: Path) -> None:
    bad = poisoned(base, tmp_path / "bad", "encoder.layer.0.output.dense.weight", 3)
    reason = stop_of(write_job(tmp_path / "run", bad, pair_rows(32), pair_rows(8, seed=9)))
    assert reason.startswith("the loss of step 1 is nan (rows r0-")
    assert reason.endswith("and 8 more): look at these rows, or set -o learning_rate=1e-03")
    (step,) = (line for line in logged(tmp_path / "run") if "loss" in line)
    assert (step["step"], step["loss"], len(step["rows"])) == (1, "nan", 8)


def test_a_weight_that_is_not_finite_makes_no_checkpoint(tmp_path: Path, base: Path) -> None:
    name = "embeddings.word_embeddings.weight"
    bad = poisoned(base, tmp_path / "bad", name, 4)  # the mask, which no text has
    job = write_job(tmp_path / "run", bad, pair_rows(32), pair_rows(8, seed=9), save_every=2)
    reason = stop_of(job)
    assert reason.startswith(f"weight 0.model.{name} is not finite after step 2 (rows r0-")
    assert list((tmp_path / "run/checkpoints").iterdir()) == []


def steps(losses: list[float], norms: list[float]) -> str:
    """Show the guard the logs of steps; return why it stops, "" where it does not."""
    log = SimpleNamespace(write=lambda **_: None, tell=lambda _: None, seconds=0.0)
    guard = script("guard").Guard(log, 100)
    args = SimpleNamespace(world_size=1, learning_rate=3e-5)
    for n, (loss, norm) in enumerate(zip(losses, norms, strict=True), 1):
        guard.rows = [f"r{n}"]
        state = SimpleNamespace(global_step=n)
        try:
            guard.on_log(args, state, None, logs={"loss": loss, "grad_norm": norm})
        except script("guard").StopError as error:
            return str(error)
    return ""


def test_a_run_that_diverges_is_ended_after_its_first_steps() -> None:
    ones = [1.0] * 40
    assert steps(ones, ones) == ""
    assert steps([*ones, 6.0], [*ones, 1.0]) == (
        "the run diverges: the loss of step 41 is 6, 5 times the usual 1 (rows r41): set"
        " -o learning_rate=1e-05, or look at these rows"
    )
    assert "the gradient norm of step 41 is 101, 100 times the usual 1" in steps(
        [*ones, 1.0], [*ones, 101.0]
    )
    assert steps([*ones, 4.9], [*ones, 99.0]) == ""
    assert steps([1.0, 1.0, 60.0, 1.0], [1.0] * 4) == ""  # the first steps may be wild
    assert "is nan (rows r2)" in steps([1.0, float("nan")], [1.0, 1.0])
    assert "the gradient norm of step 1 is inf" in steps([1.0], [float("inf")])


def test_a_loss_near_zero_may_vary() -> None:
    assert steps([1.0] * 20 + [0.001] * 60 + [0.5], [1.0] * 81) == ""


Change = Callable[[list[dict[str, Any]], list[dict[str, Any]]], None]


def duplicate(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    train.append({**train[3], "id": "again"})


def leak(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    dev[0]["query"] = train[5]["query"]


def false_negative(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    train[7]["query"] = train[6]["query"]
    train[7]["negatives"] = [train[6]["positive"]]


def blank(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    train[2]["positive"] = " \n"


def empty(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    train.clear()


def long_rows(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    for row in train[:4]:
        row["positive"] = " ".join(["karan"] * 40 + [row["id"]])


def equal_texts(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    for row in train:
        row["positive"] = "karan fil"


def prefixed(train: list[dict[str, Any]], dev: list[dict[str, Any]]) -> None:
    train[9]["query"] = f"ask: {train[9]['query']}"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (duplicate, "rows r0-3 and again are the same: remove one"),
        (leak, "1 queries are in both train and dev, such as"),
        (false_negative, "row r0-7 has a negative that answers its query in another row: remove"),
        (blank, "row r0-2 is blank: remove it"),
        (empty, "train.jsonl has no rows: make it with `ragkit tune data`"),
        (long_rows, "4 of 32 rows are longer than 32 tokens, and would be trained without their"),
        (
            equal_texts,
            "the rows have too few different passages to fill a batch of two: make rows of more"
            " documents, or set -o negatives=0",
        ),
        (prefixed, "1 rows begin with the prefix 'ask:' that the model puts before them (rows r0"),
    ],
)
def test_faults_of_rows(tmp_path: Path, base: Path, change: Change, reason: str) -> None:
    train, dev = pair_rows(32), pair_rows(8, seed=9)
    change(train, dev)
    job = write_job(tmp_path / "run", base, train, dev, negatives=0)
    values = json.loads(job.read_text("utf-8"))
    values["prefixes"] = {"query": "ask: ", "passage": ""}
    job.write_text(json.dumps(values), "utf-8")
    assert reason in stop_of(job)


def test_some_long_rows_are_named_and_cut(tmp_path: Path, base: Path) -> None:
    train = pair_rows(64)
    train[5]["positive"] = " ".join(["karan"] * 40)
    job = write_job(tmp_path / "run", base, train, pair_rows(8, seed=9), steps=2)
    code, lines = run_here(job)
    assert code == 0
    assert "stage: 1 of 64 rows are longer than 32 tokens and are cut (rows r0-5)" in lines


def lengths(*tokens: int, limit: int, own: int) -> list[str]:
    """Check rows of so many tokens; return what is told, or why they are refused."""
    rows = [{"id": str(n), "tokens": count} for n, count in enumerate(tokens)]
    told: list[str] = []
    checks = script("row_checks")
    try:
        checks.check_lengths(rows, lambda row: row["tokens"], limit, told.append, own=own)
    except script("row_checks").StopError as error:
        return [f"refused: {error}"]
    return told


def test_long_rows_are_refused_only_below_what_the_model_can_read() -> None:
    shorter = [200] * 18
    assert lengths(*shorter, limit=256, own=512) == []
    assert lengths(*shorter, 300, 310, 500, limit=256, own=512) == [
        "refused: 3 of 21 rows are longer than 256 tokens, and would be trained without their end"
        " (rows 18, 19, 20): set -o max_tokens=320, or make the rows anew with --max-tokens 256"
    ]
    assert "set -o max_tokens=500," in lengths(600, 600, limit=256, own=500)[0]
    assert lengths(*shorter, 600, 600, 600, limit=512, own=512) == [
        "3 of 21 rows are longer than the 512 tokens that the model reads, and are cut as it cuts"
        " passages in use (rows 18, 19, 20)"
    ]


def test_a_model_that_reads_less_cuts_the_rows_and_goes_on(tmp_path: Path, base: Path) -> None:
    train = pair_rows(32)
    for row in train[:8]:
        row["positive"] = " ".join(["karan"] * 80 + [row["id"]])
    rows = (train, pair_rows(8, seed=9))
    for max_tokens in (64, 512):  # the base reads 64
        job = write_job(tmp_path / str(max_tokens), base, *rows, steps=2, max_tokens=max_tokens)
        code, lines = run_here(job)
        assert code == 0, lines
        told = "stage: 8 of 32 rows are longer than the 64 tokens that the model reads, and are cut"
        assert len([line for line in lines if line.startswith(told)]) == 1


def told(seconds: list[float], minutes: float, *, stops: int = 0) -> list[str]:
    """Show the guard steps that end at these times; return what it tells."""
    lines: list[str] = []
    log = SimpleNamespace(write=lambda **_: None, tell=lines.append, seconds=0.0)
    log.note = lambda event, step=0: lines.append(event)
    guard = script("guard").Guard(log, 100, minutes=minutes)
    args = SimpleNamespace(world_size=1, learning_rate=1e-5)
    control = SimpleNamespace(should_save=False, should_training_stop=False)
    guard.on_train_begin(args, None, control)
    for n, second in enumerate(seconds, 1):
        log.seconds = second
        state = SimpleNamespace(global_step=n, max_steps=100)
        control.should_training_stop = n == stops
        guard.on_step_end(args, state, control)
        guard.on_log(args, state, control, logs={"loss": 1.0, "grad_norm": 1.0})
    return lines


def test_the_time_left_is_the_smaller_of_steps_and_minutes() -> None:
    assert told([10, 20], minutes=0)[-1].endswith(" left 980 s")
    assert told([10, 40], minutes=0)[-1].endswith(" left 1960 s")  # by the mean of the steps
    assert told([10, 20], minutes=2)[-1].endswith(" left 100 s")
    assert told([10, 130], minutes=2)[-1].endswith(" left 0 s")
    assert told([10, 20], minutes=1000)[-1].endswith(" left 980 s")


def test_the_end_of_the_minutes_is_told() -> None:
    ended = "time is up after 2 steps: the best so far is kept"
    assert ended in told([10, 130], minutes=2, stops=2)
    assert ended not in told([10, 20], minutes=2, stops=2)  # ended for another reason
    assert ended not in told([10, 130], minutes=0, stops=2)


def test_an_unknown_key_is_an_error_of_its_own(tmp_path: Path, base: Path) -> None:
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9))
    values = json.loads(job.read_text("utf-8"))
    job.write_text(json.dumps({**values, "learnrate": 1}), "utf-8")
    assert "unknown key 'learnrate'" in stop_of(job, code=2)
    job.write_text(json.dumps({**values, "recipe": {**values["recipe"], "lr": 1}}), "utf-8")
    assert "unknown key 'lr' in the recipe" in stop_of(job, code=2)
    assert {field.name for field in fields(Recipe)} == script("job").RECIPE_KEYS


def test_changed_rows_are_refused(tmp_path: Path, base: Path) -> None:
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9))
    with (tmp_path / "run/train.jsonl").open("a") as file:
        file.write("\n")
    assert "train.jsonl changed since the run was planned: restore it" in stop_of(job)


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path, base: Path) -> None:
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9), steps=2)
    assert run_here(job)[0] == 0
    checkpoint = tmp_path / "run/checkpoints/step-000002"
    values = json.loads(job.read_text("utf-8"))
    about = json.loads((checkpoint / "checkpoint.json").read_text("utf-8"))
    assert about["versions"]["torch"].startswith("2.")
    values |= {"model": str(tmp_path / "run/model2"), "resume": str(checkpoint)}
    for name in ("data_hash", "recipe_hash"):
        job.write_text(json.dumps({**values, name: "other"}), "utf-8")
        code, lines = run_here(job)
        assert code == 1
        assert f"step-000002 is of another run: {name} is" in lines[-1]
    job.write_text(json.dumps(values), "utf-8")
    versions = {**about["versions"], "torch": "1.0"}
    (checkpoint / "checkpoint.json").write_text(json.dumps({**about, "versions": versions}))
    code, lines = run_here(job)
    assert code == 1
    assert "is of another run: versions is" in lines[-1]


def test_a_full_disk_leaves_the_last_good_checkpoint(tmp_path: Path, base: Path) -> None:
    rows, dev = pair_rows(32), pair_rows(8, seed=9)
    job = write_job(tmp_path / "run", base, rows, dev, steps=4, evaluate_every=2)
    assert run_here(job)[0] == 0
    values = json.loads(job.read_text("utf-8"))
    first = tmp_path / "run/checkpoints/step-000002"
    (tmp_path / "run/model").rename(tmp_path / "run/whole")
    job.write_text(json.dumps({**values, "resume": str(first)}), "utf-8")
    with largest_file(100_000):
        reason = stop_of(job)
    assert reason.startswith("checkpoint 4 cannot be written (")
    assert reason.endswith("): make room, then resume from the one before")
    assert not (tmp_path / "run/checkpoints/.writing").exists()
    assert run_here(job)[0] == 0
    weights = [tmp_path / "run" / name / "model.safetensors" for name in ("whole", "model")]
    assert weights[0].read_bytes() == weights[1].read_bytes()


def hungry(monkeypatch: pytest.MonkeyPatch, limit: int, *, after: int = 0) -> None:
    """Let the model run out of memory in training with more than `limit` texts at once."""
    import torch

    embedder = script("embedder")
    load, seen = embedder.load, [0]

    def load_hungry(folder: str) -> Any:
        model = load(folder)

        def check(module: Any, inputs: tuple[Any, ...]) -> None:
            if module.training:
                seen[0] += 1
                if len(inputs[0]["input_ids"]) > limit and seen[0] > after:
                    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")

        model[0].register_forward_pre_hook(check)
        return model

    monkeypatch.setattr(embedder, "load", load_hungry)


def test_out_of_memory_halves_what_is_in_memory_and_goes_on(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, dev = pair_rows(64), pair_rows(8, seed=9)
    job = write_job(tmp_path / "run", base, rows, dev, steps=6, evaluate_every=2)
    hungry(monkeypatch, 4, after=2 * 3)  # three steps of two texts a row
    code, lines = run_here(job)
    assert code == 0, lines
    assert [line for line in lines if "out of memory" in line] == [
        f"stage: out of memory, going on from step 2 with {size} rows at once, as many in each step"
        " as before"
        for size in (8, 4)
    ]
    log = logged(tmp_path / "run")
    assert [line["step"] for line in log if "loss" in line] == [1, 2, 3, 4, 5, 6]
    assert [line["step"] for line in log if "out of memory" in line.get("event", "")] == [2, 2]


def test_of_several_processes_one_without_memory_ends_them_all(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = script("job").read_job(write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8)))
    log = script("job").Log(job.log)
    tried = []

    def attempt(job: Any, micro_batch: int) -> None:
        tried.append(micro_batch)
        raise MemoryError

    monkeypatch.setenv("WORLD_SIZE", "2")  # the other waits for this one's gradients
    with pytest.raises(script("job").StopError, match="out of memory with 16 rows at once: start"):
        script("training").run_within_memory(job, log, 16, attempt)
    assert tried == [16]


def test_a_measure_that_is_not_finite_ends_the_run(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measures = {"ndcg@10": float("nan"), "mrr@10": 0.0}
    monkeypatch.setattr(script("embedder"), "measure_embedder", lambda *_: measures)
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9), steps=2)
    assert stop_of(job).startswith("dev ndcg@10 of step 2 is nan: set a smaller -o learning_rate")
    assert list((tmp_path / "run/checkpoints").iterdir()) == []


def test_a_row_that_does_not_fit_ends_the_run(
    tmp_path: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9), steps=2)
    hungry(monkeypatch, 0)
    assert stop_of(job).startswith(
        "a single row does not fit into the memory: set a smaller -o max_tokens"
    )


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"precision": "fp16"}, "precision fp16 needs a GPU"),
        ({"optimizer": "adamw-8bit"}, "optimizer adamw-8bit needs bitsandbytes: pip install"),
        ({"loss": "kl"}, "loss kl needs a teacher's scores in the rows, or a teacher"),
        (
            {"matryoshka": [64]},
            "matryoshka 64 is more than the model's dimension 32: set smaller ones",
        ),
        ({"batch": 16, "gpus": 64}, "32 rows cannot be shared by 64 GPUs"),
    ],
)
def test_what_the_machine_or_the_recipe_lacks(
    tmp_path: Path, base: Path, settings: dict[str, Any], reason: str
) -> None:
    job = write_job(tmp_path / "run", base, pair_rows(32), pair_rows(8, seed=9), **settings)
    assert stop_of(job).startswith(reason)
