"""Start, resume and stop runs: the worker trains, and run.json says how it ended."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep
from typing import Final, TextIO

from ragkit.errors import BusyError, ModelError, UsageError
from ragkit.system.private_files import private
from ragkit.system.worker_process import COMPACT, find_interpreter, run_worker
from ragkit_tune.model_files.folder import carry_card
from ragkit_tune.recipe import Recipe, make_recipe
from ragkit_tune.run import job as jobs
from ragkit_tune.run.complete import complete_embedder
from ragkit_tune.run.devices import locked_devices, visible_devices
from ragkit_tune.run.folder import Run, RunFolder, create_run, find_run, now, runs_folder
from ragkit_tune.run.launcher import write_launcher
from ragkit_tune.run.log import Progress, parse_progress, read_log

_ASKED_S: Final = 0.3  # between two looks for a request to stop
_GRACE_S: Final = 10.0  # arbitrary: for a worker to end by itself
_STOP_WAIT_S: Final = 30.0  # arbitrary: more than the above
_INSTALL: Final = "pip install 'ragkit[tune]'"
# A worker reads local files alone.
_ENVIRONMENT: Final = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

OnStage = Callable[[str], None]
OnStep = Callable[[Progress], None]


def start(
    recipe: Recipe,
    *,
    home: Path,
    name: str = "",
    python: Path | None = None,
    compact: bool = False,
    on_stage: OnStage = lambda _: None,
    on_step: OnStep = lambda _: None,
) -> Run:
    """Train what a recipe says, and return the run: finished, or stopped by a request.

    `python` is the interpreter that has the training libraries, None for this one. `compact` gives
    freed memory back at once (`ragkit_tune.plan.make.Plan.compact`). Raises
    UsageError for a recipe or data that cannot be used, BusyError when the device is in use, and
    ModelError when training fails; run.json then has the reason.
    """
    interpreter = check_trainers(recipe, python)
    data = jobs.read_rows(recipe)
    base = jobs.find_base(recipe)
    with locked_devices(runs_folder(home), visible_devices()):
        described = {**jobs.description(recipe, data, base), "compact": compact}
        folder = create_run(home, name, described)
        with folder.locked():
            return _train(folder.read(), recipe, interpreter, on_stage, on_step)


def resume(
    name: str,
    *,
    home: Path,
    python: Path | None = None,
    on_stage: OnStage = lambda _: None,
    on_step: OnStep = lambda _: None,
) -> Run:
    """Go on with a run from its last checkpoint, or from its beginning where it has none.

    Raises UsageError when it is finished, or when rows or base are not those that it began with.
    """
    folder = find_run(home, name)
    run = folder.read()
    if run.state == "running":
        raise BusyError(f"run {name} is going on: see `ragkit tune runs show {name}`")
    if run.state == "finished":
        raise UsageError(f"run {name} is finished: start another with its recipe")
    recipe = make_recipe(run.recipe, where=str(folder.file))
    interpreter = check_trainers(recipe, python)
    with locked_devices(runs_folder(home), visible_devices()), folder.locked():
        return _train(run, recipe, interpreter, on_stage, on_step)


def stop(name: str, *, home: Path) -> Run:
    """End a run that goes on, with its last checkpoint. Raises UsageError when it does not."""
    folder = find_run(home, name)
    if not folder.is_locked():
        raise UsageError(f"run {name} does not go on: it is {folder.read().state}")
    try:
        with open(folder.stop_request, "w", encoding="utf-8", opener=private):
            pass
    except OSError as error:
        raise _unwritten(folder.stop_request, error) from error
    end = monotonic() + _STOP_WAIT_S
    while folder.is_locked():
        if monotonic() > end:
            raise BusyError(f"run {name} did not end within {_STOP_WAIT_S:.0f} s: ask again")
        sleep(_ASKED_S)
    return folder.read()


def check_trainers(recipe: Recipe, python: Path | None) -> Path:
    """Return the interpreter that has what a recipe needs. Raises ModelError naming what is not."""
    wanted = list(jobs.packages(recipe))
    return find_interpreter(python, wanted, option="RAGKIT_TUNE_PYTHON", install=_INSTALL)


def _train(run: Run, recipe: Recipe, interpreter: Path, on_stage: OnStage, on_step: OnStep) -> Run:
    """Run the worker and write down how it ended. The caller holds the run's lock."""
    folder = run.folder
    data, base = jobs.read_rows(recipe), jobs.find_base(recipe)
    _check_unchanged(run, data.hash, base.revision)
    try:
        jobs.write_job(run, recipe, data, base)
        launcher = write_launcher(recipe, folder.path / "accelerate.json")
        folder.stop_request.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritten(folder.path, error) from error
    folder.update(state="running", failure="", ended_at=None)
    stops = _StopRequests(folder)
    try:
        with _output(folder, on_stage, on_step) as output, stops.watched():
            reason = run_worker(
                interpreter,
                jobs.worker_script(recipe),
                folder.job,
                output.read_line,
                launcher=launcher,
                environment={**_ENVIRONMENT, **(COMPACT if run.values.get("compact") else {})},
                on_start=stops.begin,
            )
        if recipe.kind == "embedder" and not reason and folder.model.is_dir():
            complete_embedder(base.folder, folder.model)
            carry_card(base, folder.model)
    except BaseException as error:
        _ended(folder, "stopped", _interruption(error))
        raise
    if stops.is_asked and reason:
        return _ended(folder, "stopped", "ended by `ragkit tune runs stop`")
    if not reason and not folder.model.is_dir():
        reason = "the worker wrote no model"
    if reason:
        failure = output.stopped or _explained(reason)
        _ended(folder, "failed", failure)
        resumes = f"; `ragkit tune runs resume {run.name}` goes on from the last checkpoint"
        hint = resumes if folder.last_checkpoint() else ""
        raise ModelError(f"run {run.name} failed: {failure} (log: {folder.output}{hint})")
    return _ended(folder, "finished", "")


def _interruption(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted by Ctrl-C"
    if isinstance(error, SystemExit):  # which the command line makes of the signal
        return "ended by SIGTERM"
    return f"interrupted by {type(error).__name__}: {error}"


def _explained(reason: str) -> str:
    if reason == "killed by SIGKILL":
        why = "as the system does where memory runs out"
        return f"{reason}, {why}: set a smaller -o micro_batch"
    return reason


def _check_unchanged(run: Run, data_hash: str, revision: str) -> None:
    """Raise UsageError where a run would go on with other rows or another base."""
    if data_hash != run.values["data_hash"]:
        raise UsageError(
            f"{run.recipe['data']} changed since run {run.name} began: restore it, or start"
            " another run"
        )
    if revision != run.values["base"]["revision"]:
        raise UsageError(
            f"{run.recipe['base']} changed since run {run.name} began: restore it, or start"
            " another run"
        )


def _ended(folder: RunFolder, state: str, failure: str) -> Run:
    log = read_log(folder.steps)
    steps = int(log.steps[-1].get("step", 0)) if log.steps else 0
    folder.stop_request.unlink(missing_ok=True)
    versions = jobs.read_versions(folder)
    return folder.update(
        state=state, failure=failure, ended_at=now(), steps=steps, versions=versions
    )


@dataclass(slots=True)
class _Output:
    """The worker's lines: all into a file, stages and steps to the caller."""

    file: TextIO
    on_stage: OnStage
    on_step: OnStep
    stopped: str = ""

    def read_line(self, line: str) -> None:
        try:
            self.file.write(f"{line}\n")
        except OSError as error:
            raise _unwritten(Path(self.file.name), error) from error
        if line.startswith("stage: "):
            self.on_stage(line.removeprefix("stage: "))
        elif line.startswith("stopped: "):
            self.stopped = line.removeprefix("stopped: ")
        elif progress := parse_progress(line):
            self.on_step(progress)


@contextmanager
def _output(folder: RunFolder, on_stage: OnStage, on_step: OnStep) -> Iterator[_Output]:
    try:
        file = open(folder.output, "a", buffering=1, encoding="utf-8", opener=private)  # noqa: SIM115
    except OSError as error:
        raise _unwritten(folder.output, error) from error
    try:
        yield _Output(file, on_stage, on_step)
    finally:
        with suppress(OSError):  # of a line that could not be written, which was told
            file.close()


def _unwritten(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path} cannot be written ({error.strerror}): make room on its disk")


@dataclass(slots=True)
class _StopRequests:
    """A thread that ends the worker's group once the run's folder has the file `stop`."""

    folder: RunFolder
    is_asked: bool = False
    _group: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def begin(self, group: int) -> None:
        """Note the worker's process group."""
        self._group = group

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look for a request until the context ends."""
        thread = threading.Thread(target=self._watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_ASKED_S):
            if self._group and self.folder.stop_request.exists():
                self.is_asked = True
                self._signal(signal.SIGTERM)
                if not self._over.wait(_GRACE_S):
                    self._signal(signal.SIGKILL)
                return

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._group, number)
