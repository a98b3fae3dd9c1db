"""Checkpoints: whole or not there, and only for the run that they are of.

A checkpoint is written into a folder beside its place, flushed to the disk and renamed. Its
`checkpoint.json` names the rows, the recipe and the versions; resuming with others is refused,
because it would be another run.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from job import Job, Log, StopError  # type: ignore[import-not-found]  # beside this script
from safetensors import SafetensorError
from transformers import TrainerCallback

ABOUT: Final = "checkpoint.json"
UNWRITTEN: Final = (OSError, RuntimeError, SafetensorError)  # what a full disk raises
TRAINABLE: Final = "trainable.safetensors"
NEWEST: Final = 2  # that stay, beside the best
_PACKAGES: Final = ("torch", "transformers", "sentence-transformers", "accelerate", "peft", "trl")


class Stopping(TrainerCallback):
    """Measure on the dev set, save, and end a run that no longer becomes better.

    `measure(model)` returns the dev set's measures; `name` is the one that decides. The run ends
    after `patience` measurements without a new best, and after so many minutes.
    """

    def __init__(
        self,
        log: Log,
        measure: Callable[[Any], dict[str, float]],
        *,
        name: str,
        every: int,
        save_every: int,
        patience: int,
        minutes: float,
        is_lower_better: bool = False,
    ) -> None:
        self._log = log
        self._measure = measure
        self._name = name
        self._every = every
        self._save_every = save_every
        self._patience = patience
        self._seconds = minutes * 60
        self._sign = -1.0 if is_lower_better else 1.0
        self.is_asked = False  # to end, by SIGTERM
        self.base: float | None = None
        self.best: float | None = None
        self.best_step = 0
        self.without = 0

    def state(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of the measurements."""
        names = ("base", "best", "best_step", "without")
        return {name: getattr(self, name) for name in names}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a checkpoint's measurements."""
        self.base, self.best, self.best_step = state["base"], state["best"], state["best_step"]
        self.without = state["without"]

    @property
    def is_patient(self) -> bool:
        """Whether the measurements let the run go on."""
        return self.without < self._patience

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Save and end after the step at hand when the process is asked to end, by SIGTERM."""

        def ask(*_: object) -> None:
            self.is_asked = True

        previous = signal.signal(signal.SIGTERM, ask)
        try:
            yield
        finally:
            signal.signal(signal.SIGTERM, previous)

    def measure_base(self, model: Any) -> None:
        """Write down what the base reaches, before the first step."""
        values = self._measure(model)
        self.base = self._sign * values[self._name]
        self._log.write(step=0, dev=values, seconds=0.0)

    def note_best(self, step: int) -> None:
        """Write down at the end which step is the best, and say so if the base was no worse."""
        self._log.write(step=step, event=f"the best is step {self.best_step}")
        if self.base is not None and self.best is not None and self.best <= self.base:
            self._log.note(
                f"training did not improve the dev rows: {self._name} {self._sign * self.base:.4f}"
                f" before, {self._sign * self.best:.4f} at best",
                step,
            )

    def on_step_end(
        self, args: Any, state: Any, control: Any, model: Any = None, **context: Any
    ) -> None:
        """Measure every so many steps, and at the last one."""
        is_over = 0 < self._seconds <= self._log.seconds
        self.is_asked, is_over = from_first((self.is_asked, is_over))
        if self.is_asked:
            control.should_save = control.should_training_stop = True
            return
        if state.global_step % self._save_every == 0:
            control.should_save = True
        if state.global_step % self._every and state.global_step < state.max_steps and not is_over:
            return
        values = from_first(self._measure(model))
        score = self._sign * values[self._name]
        if not math.isfinite(score):
            raise StopError(
                f"dev {self._name} of step {state.global_step} is {values[self._name]}: set a"
                " smaller -o learning_rate; the last checkpoint is good"
            )
        if self.best is None or score > self.best:
            self.best, self.best_step, self.without = score, state.global_step, 0
        else:
            self.without += 1
        self._log.write(step=state.global_step, dev=values, seconds=round(self._log.seconds, 3))
        self._log.tell(
            f"stage: step {state.global_step}, dev {self._name} {values[self._name]:.4f}"
            + (", the best so far" if self.best_step == state.global_step else "")
        )
        control.should_save = True
        if is_over or not self.is_patient:
            reason = "time is up" if is_over else f"no better in {self.without} measurements"
            self._log.write(step=state.global_step, event=f"stopped early: {reason}")
            control.should_training_stop = True


class WholeCheckpoints:
    """A mixin for trainers: each checkpoint appears whole in the job's folder, or not at all."""

    job: Job
    stopping: Stopping
    log_file: Log

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        # Where each process holds a part of the weights, `state_dict` has them whole in the first.
        assert output_dir is not None
        if self.is_world_process_zero():  # type: ignore[attr-defined]
            save_trainable(self.model, Path(output_dir), state_dict)  # type: ignore[attr-defined]

    def _load_from_checkpoint(self, checkpoint_path: str, *arguments: Any, **options: Any) -> None:
        load_trainable(self.model, Path(checkpoint_path))  # type: ignore[attr-defined]

    def _get_output_dir(self, trial: Any = None) -> str:
        return str(Path(self.job.checkpoints) / ".writing")

    def _save_checkpoint(self, *arguments: Any, **options: Any) -> None:
        step = self.state.global_step  # type: ignore[attr-defined]
        place = Path(self.job.checkpoints) / f"step-{step:06d}"
        staging = Path(self._get_output_dir())
        is_first = self.is_world_process_zero()  # type: ignore[attr-defined]
        try:
            if is_first:
                shutil.rmtree(staging, ignore_errors=True)
            self.accelerator.wait_for_everyone()  # type: ignore[attr-defined]
            super()._save_checkpoint(*arguments, **options)  # type: ignore[misc]
            self.accelerator.wait_for_everyone()  # type: ignore[attr-defined]
            if is_first:
                written = staging / f"checkpoint-{step}"
                about = {**identity(self.job), "step": step, "stopping": self.stopping.state()}
                about["seconds"] = self.log_file.seconds
                (written / ABOUT).write_text(json.dumps(about, indent=2), "utf-8")
                flush_folder(written)
                shutil.rmtree(place, ignore_errors=True)
                written.rename(place)
                _flush_names(place.parent)
                shutil.rmtree(staging, ignore_errors=True)
                _remove_old(Path(self.job.checkpoints), self.stopping.best_step)
                self.log_file.write(step=step, event="checkpoint")
        except UNWRITTEN as error:
            shutil.rmtree(staging, ignore_errors=True)
            raise StopError(
                f"checkpoint {step} cannot be written ({reason_of(error)}): make room, then resume"
                " from the one before"
            ) from error


def save_trainable(model: Any, folder: Path, whole: Mapping[str, Any] | None = None) -> None:
    """Write the weights that are trained: those of the model, or of its `whole` state."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    weights = {
        name: (w if whole is None else whole[name]).detach().contiguous()
        for name, w in model.named_parameters()
        if w.requires_grad
    }
    save_file(weights, folder / TRAINABLE)


def load_trainable(model: Any, folder: Path) -> None:
    """Load the weights of a checkpoint of the same recipe. Raises StopError for another model's."""
    from safetensors.torch import load_file
    from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict

    weights: dict[str, Any] = load_file(folder / TRAINABLE)
    # Full: each process takes its part where the weights are shared among several.
    options = StateDictOptions(full_state_dict=True, strict=False)
    if set_model_state_dict(model, weights, options=options).unexpected_keys:
        raise StopError(f"{folder} has weights of another model: start a new run")


def reason_of(error: BaseException) -> str:
    """Return why a file could not be written. Raises the error again when it is no such reason."""
    text = getattr(error, "strerror", None) or str(error).split("\n")[0]
    if isinstance(error, RuntimeError) and "write" not in text:  # torch's of a full disk
        raise error
    return str(text)


def identity(job: Job) -> dict[str, Any]:
    """Return what must be equal for a run to go on."""
    return {
        "data_hash": job.data_hash,
        "recipe_hash": job.recipe_hash,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of the libraries that decide what a step does."""
    known: dict[str, str] = {}
    for name in _PACKAGES:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def read_checkpoint(job: Job) -> dict[str, Any]:
    """Read what the checkpoint to resume from says. Raises StopError for one of another run."""
    path = Path(job.resume) / ABOUT
    try:
        about: dict[str, Any] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise StopError(f"{path} cannot be read: {error}: start a new run") from error
    for name, value in identity(job).items():
        if about.get(name) != value:
            raise StopError(
                f"{job.resume} is of another run: {name} is {about.get(name)!r}, not {value!r}:"
                " restore what it was, or start a new run"
            )
    return about


def newest_checkpoint(folder: Path) -> Path | None:
    """Return the newest whole checkpoint."""
    steps = {
        int(path.name.removeprefix("step-")): path
        for path in folder.glob("step-*")
        if (path / ABOUT).is_file()
    }
    return steps[max(steps)] if steps else None


def from_first(value: Any) -> Any:
    """Return the first process's value in all processes: they must decide alike, or wait for ever.

    Without several processes it is the value itself.
    """
    from torch import distributed

    if not (distributed.is_available() and distributed.is_initialized()):
        return value
    values = [value]
    distributed.broadcast_object_list(values, src=0)
    return values[0]


def _remove_old(folder: Path, best_step: int) -> None:
    paths = (path for path in folder.glob("step-*") if path.is_dir())
    steps = sorted(paths, key=lambda path: int(path.name.removeprefix("step-")))
    for path in steps[:-NEWEST]:
        if path.name != f"step-{best_step:06d}":
            shutil.rmtree(path)


def flush_folder(folder: Path) -> None:
    """Write everything below a folder to the disk itself."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
    _flush_names(folder)


def _flush_names(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
