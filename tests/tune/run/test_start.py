"""Runs from their start to their end, with workers that only pretend to train."""

import json
import threading
from pathlib import Path

import pytest

from ragkit.errors import BusyError, ModelError, UsageError
from ragkit_tune.data.data_set import write_data_set
from ragkit_tune.run.folder import create_run, find_run
from ragkit_tune.run.start import resume, start, stop
from tests.tune.run.worlds import GOOD, World, make_world
from tests.tune.worker.tiny import largest_file, pair_rows


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return make_world(tmp_path, monkeypatch)


def test_a_run_that_ends_well_has_a_model_and_says_what_it_did(world: World) -> None:
    world.write_worker(GOOD)
    stages: list[str] = []
    losses: list[float] = []
    run = start(
        world.recipe(),
        home=world.home,
        on_stage=stages.append,
        on_step=lambda progress: losses.append(progress.loss),
    )
    assert (run.name, run.state, run.failure) == ("embedder-1", "finished", "")
    assert (stages, losses) == (["loading the model"], [2.5])
    assert run.values["steps"] == 1
    assert run.values["versions"] == {"torch": "2.13.0"}
    assert run.values["recipe_hash"] == world.recipe().hash
    assert run.values["base"]["folder"] == str(world.base)
    assert len(run.values["base"]["revision"]) == 12
    assert run.folder.output.read_text("utf-8").startswith("stage: loading the model\nstep: 1/2")


def test_the_job_names_files_with_their_hashes_and_the_prefixes_of_the_base(world: World) -> None:
    world.write_worker(GOOD)
    prompts = {"prompts": {"query": "ask: ", "document": "text: "}}
    (world.base / "config_sentence_transformers.json").write_text(json.dumps(prompts), "utf-8")
    run = start(world.recipe(), home=world.home, name="first")
    job = json.loads(run.folder.job.read_text("utf-8"))
    assert job["prefixes"] == {"query": "ask: ", "passage": "text: "}
    assert job["train"] == str(world.data / "train.jsonl")
    assert job["data_hash"] == run.values["data_hash"]
    assert len(job["train_hash"]) == len(job["dev_hash"]) == 64
    assert (job["resume"], job["teacher"]) == ("", "")
    assert job["recipe"] == world.recipe().as_json()


def test_a_failure_is_written_down_and_a_resume_goes_on(world: World) -> None:
    world.write_worker("checkpoint(3)\nsay('stopped: loss is nan (rows r1): lower it')\nexit(1)")
    with pytest.raises(
        ModelError,
        match=r"^run first failed: loss is nan \(rows r1\): lower it .+ first` goes on",
    ):
        start(world.recipe(), home=world.home, name="first")
    folder = find_run(world.home, "first")
    assert (folder.read().state, folder.read().failure) == (
        "failed",
        "loss is nan (rows r1): lower it",
    )
    world.write_worker("say(f'stage: from {job[\"resume\"][-11:]}')\n" + GOOD)
    stages: list[str] = []
    run = resume("first", home=world.home, on_stage=stages.append)
    assert (run.state, run.failure) == ("finished", "")
    assert stages[0] == "from step-000003"
    with pytest.raises(UsageError, match="run first is finished: start another"):
        resume("first", home=world.home)


@pytest.mark.parametrize("compact", [True, False])
def test_a_run_and_what_resumes_it_give_memory_back_as_planned(world: World, compact: bool) -> None:
    said = "import os\nsay(f'stage: {os.environ.get(\"MALLOC_MMAP_THRESHOLD_\")}')\n"
    world.write_worker(f"checkpoint(1)\n{said}exit(1)")
    stages: list[str] = []
    with pytest.raises(ModelError):
        start(world.recipe(), home=world.home, name="c", compact=compact, on_stage=stages.append)
    world.write_worker(said + GOOD)
    resume("c", home=world.home, on_stage=stages.append)
    expected = "262144" if compact else "None"
    assert [stage for stage in stages if stage in {"262144", "None"}] == [expected] * 2


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise ValueError('no such layer')", "ValueError: no such layer"),
        ("os.kill(os.getpid(), 9)", "killed by SIGKILL, as the system does where memory runs out"),
        ("pass", "the worker wrote no model"),
    ],
)
def test_each_way_to_fail_has_a_reason(world: World, code: str, reason: str) -> None:
    world.write_worker(code)
    with pytest.raises(ModelError, match=f"^run embedder-1 failed: {reason}") as raised:
        start(world.recipe(), home=world.home)
    assert "goes on" not in str(raised.value)  # from no checkpoint
    assert find_run(world.home, "embedder-1").read().state == "failed"


def test_a_run_is_stopped_by_a_request(world: World) -> None:
    world.write_worker("checkpoint(1)\nsay('stage: busy')\ntime.sleep(600)")
    busy = threading.Event()
    ended: list[str] = []

    def train() -> None:
        run = start(world.recipe(), home=world.home, on_stage=lambda _: busy.set())
        ended.append(run.failure)

    thread = threading.Thread(target=train)
    thread.start()
    assert busy.wait(60)
    with pytest.raises(BusyError, match="this machine is in use by another run"):
        start(world.recipe(), home=world.home)
    with pytest.raises(BusyError, match="run embedder-1 is going on"):
        resume("embedder-1", home=world.home)
    run = stop("embedder-1", home=world.home)
    thread.join(60)
    assert (run.state, ended) == ("stopped", ["ended by `ragkit tune runs stop`"])
    assert not run.folder.stop_request.exists()
    with pytest.raises(UsageError, match="run embedder-1 does not go on: it is stopped"):
        stop("embedder-1", home=world.home)


def test_a_run_that_ends_well_although_it_is_asked_to_stop_is_finished(world: World) -> None:
    asked = "while not Path(job['log']).with_name('stop').exists(): time.sleep(0.05)\n"
    signals = "signal.sigwait([signal.SIGTERM])\n"
    blocked = "import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])\n"
    world.write_worker(f"{blocked}say('stage: busy')\n{asked}{signals}{GOOD}")
    busy = threading.Event()
    thread = threading.Thread(
        target=lambda: start(world.recipe(), home=world.home, on_stage=lambda _: busy.set())
    )
    thread.start()
    assert busy.wait(60)
    assert stop("embedder-1", home=world.home).state == "finished"
    thread.join(60)


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (KeyboardInterrupt(), "interrupted by Ctrl-C"),
        (SystemExit(143), "ended by SIGTERM"),
        (ValueError("no room"), "interrupted by ValueError: no room"),
    ],
)
def test_an_interruption_leaves_a_stopped_run(
    world: World, error: BaseException, failure: str
) -> None:
    world.write_worker("say('stage: busy')\ntime.sleep(600)")

    def interrupt(_: str) -> None:
        raise error

    with pytest.raises(type(error)):
        start(world.recipe(), home=world.home, on_stage=interrupt)
    run = find_run(world.home, "embedder-1").read()
    assert (run.state, run.failure) == ("stopped", failure)


def test_a_disk_that_is_full_for_the_output_is_one_line(world: World) -> None:
    world.write_worker("say('x' * 30_000)\nsay('y' * 30_000)")
    with largest_file(40_000), pytest.raises(UsageError, match=r"worker.log cannot be written \("):
        start(world.recipe(), home=world.home)
    assert find_run(world.home, "embedder-1").read().state == "stopped"


def test_changed_rows_and_a_changed_base_are_refused(world: World) -> None:
    world.write_worker("exit(1)")
    with pytest.raises(ModelError):
        start(world.recipe(), home=world.home, name="first")
    with (world.data / "train.jsonl").open("a") as file:
        file.write("\n")
    with pytest.raises(UsageError, match=r"train.jsonl changed since its card was written"):
        resume("first", home=world.home)
    for path in world.data.iterdir():
        path.unlink()
    rows = {"train": pair_rows(9), "dev": pair_rows(2, seed=1), "test": []}
    write_data_set(world.data, "pairs", rows, {})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="data changed since run first began: restore it"):
        resume("first", home=world.home)
    with pytest.raises(ModelError):
        start(world.recipe(), home=world.home, name="second")
    weights = world.base / "model.safetensors"
    weights.write_bytes(weights.read_bytes() + b" ")
    with pytest.raises(UsageError, match="base changed since run second began: restore it"):
        resume("second", home=world.home)


def test_rows_of_another_kind_and_empty_rows_are_refused_before_a_run_is_made(
    world: World, tmp_path: Path
) -> None:
    chat = tmp_path / "chat"
    write_data_set(chat, "chat", {"train": [{"id": "1"}], "dev": [{"id": "2"}]}, {})
    with pytest.raises(UsageError, match="rows of kind chat, and embedder is trained on pairs"):
        start(world.recipe(data=str(chat)), home=world.home)
    write_data_set(tmp_path / "none", "pairs", {"dev": pair_rows(2)}, {})
    with pytest.raises(UsageError, match="none has no train rows"):
        start(world.recipe(data=str(tmp_path / "none")), home=world.home)
    assert not (world.home / "tune/embedder-1").exists()


def test_a_run_that_was_killed_is_resumed(world: World) -> None:
    values = {"kind": "embedder", "state": "running", "recipe": world.recipe().as_json()}
    world.write_worker("exit(1)")
    with pytest.raises(ModelError):
        start(world.recipe(), home=world.home, name="first")
    first = find_run(world.home, "first").read()
    create_run(world.home, "killed", {**first.values, **values, "name": "killed"})
    assert find_run(world.home, "killed").read().state == "stopped"
    world.write_worker(GOOD)
    assert resume("killed", home=world.home).state == "finished"
