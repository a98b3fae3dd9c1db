"""Train an adapter on its own answers with TRL's GRPOTrainer: `python grpo.py job.json`.

Of several answers to a question those are reinforced that ragkit's check scores above the others'
mean. The check runs as a program of ragkit's own Python, asked by JSON lines.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Final

from guard import ROW, Guard, RowsOfStep, named  # beside this script
from job import Job, Log, StopError, main, read_both
from language_model import (
    CAUSAL,
    guarded,
    make_model,
    make_model_trainer,
    open_run,
    trainer_arguments,
)
from language_model_rows import Encoded
from language_model_write import write_result
from pair_batches import answers_each
from sft import answer_of
from training import dataset_of, finish_training, is_first, run_within_memory, total_steps

MOST_ANSWER_TOKENS: Final = 512  # TRL's default is 256, an answer with citations is longer
LEAST_ANSWER_TOKENS: Final = 16
FLAT_STEPS: Final = 20  # without a difference between answers, after which a run ends; arbitrary
ENOUGH: Final = 0.99  # mean reward of answers that cannot differ because they are right
MEASURED: Final = 32  # dev questions that are answered at a measurement; arbitrary
Row = dict[str, Any]


def train(job: Job) -> None:
    """Train the job's base on its rows' questions and write the adapter, or the model."""
    log, encoder = open_run(job)
    rows, dev = read_both(job)
    dev = dev[:MEASURED]
    encoded, encoded_dev = (
        [encoder.encode(row["id"], row["messages"][:-1], answer_of(row)) for row in part]
        for part in (rows, dev)
    )
    encoder.check(encoded, log)
    _generations(job.setting("batch"))
    room = answer_room(job, [*encoded, *encoded_dev])

    with Rewards(_command(job), [*rows, *dev]) as rewards:

        def attempt(job: Job, micro_batch: int) -> None:
            run = _Run(job, log, encoder.tokenizer, rewards, room)
            run.train(rows, encoded_dev, micro_batch)

        run_within_memory(job, log, job.setting("batch"), attempt)


class Rewards:
    """Asks ragkit's check for the scores of answers. A context: it ends the check's program."""

    def __init__(self, command: Sequence[str], rows: Sequence[Row]) -> None:
        self._command = list(command)
        self._rows = {str(row["id"]): row for row in rows}
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Rewards:
        try:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                encoding="utf-8",
            )  # fmt: skip
        except OSError as error:
            raise StopError(f"{self._command[0]} cannot be run ({error.strerror})") from error
        return self

    def __exit__(self, *raised: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):  # its program has ended
            self._process.stdin.close()
        self._process.wait()

    def score(self, row: str, answers: Sequence[str]) -> list[Mapping[str, float]]:
        """Score answers to a row's question. Raises StopError when the check fails."""
        process, sources = self._process, self._rows[row]["sources"]
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        request = {
            "reference": answer_of(self._rows[row]),
            "sources": sources,
            "answers": list(answers),
        }
        try:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise StopError(
                f"the answers to row {row} cannot be checked: {' '.join(self._command[:3])} ended"
                f" with exit code {process.wait()}: see its message above"
            )
        reply = json.loads(line)
        if "error" in reply:
            raise StopError(
                f"the answers to row {row} cannot be checked ({reply['error']}): make the rows anew"
                " with this ragkit"
            )
        scores: list[Mapping[str, float]] = reply["scores"]
        return scores


def _command(job: Job) -> Sequence[str]:
    """Return the check's program; this Python has ragkit where the job names no other."""
    command: Sequence[str] | None = (job.extra or {}).get("reward")
    if command is None and find_spec("ragkit_tune") is None:
        raise StopError(
            f"{sys.executable} has no ragkit, which checks the answers: install it there, or unset"
            " RAGKIT_TUNE_PYTHON"
        )
    return command or [sys.executable, "-m", "ragkit_tune.run.reward_server"]


def _generations(batch: int) -> int:
    """Return how many answers each prompt gets. Raises StopError."""
    if count := answers_each(batch):
        return int(count)
    raise StopError(f"a batch of {batch} answers cannot be divided among prompts: set -o batch=8")


def answer_room(job: Job, rows: Sequence[Encoded]) -> int:
    """Return the most tokens of an answer that the longest prompt leaves. Raises StopError."""
    longest = max(rows, key=lambda row: len(row.prompt))
    room = int(job.setting("max_tokens")) - len(longest.prompt)
    if room < LEAST_ANSWER_TOKENS:
        raise StopError(
            f"the prompt of row {longest.row} has {len(longest.prompt)} tokens and leaves {room}"
            f" for an answer: set -o max_tokens={len(longest.prompt) + MOST_ANSWER_TOKENS}"
        )
    return min(room, MOST_ANSWER_TOKENS)


class _Guard(Guard):  # type: ignore[misc]
    """The guard without the loss's size: GRPO's loss is near zero whatever the answers are."""

    def _check(self, step: int, name: str, value: float, *arguments: Any) -> None:
        if name != "loss" or not math.isfinite(value):
            super()._check(step, name, value, *arguments)


class _Run:
    """A run of the trainer with so many rows in memory at once."""

    def __init__(
        self, job: Job, log: Log, tokenizer: Any, rewards: Rewards, answer_tokens: int
    ) -> None:
        self._job = job
        self._log = log
        self._tokenizer = tokenizer
        self._rewards = rewards
        self._answer_tokens = answer_tokens
        self._trainer: Any = None
        self._flat_steps = 0
        self._has_learnt = False

    def train(self, rows: Sequence[Row], dev: Sequence[Encoded], micro_batch: int) -> None:
        """Train to the end and write the result."""
        from trl import GRPOConfig, GRPOTrainer

        job, log, tokenizer = self._job, self._log, self._tokenizer
        generations = _generations(job.setting("batch"))
        answers = len(rows) * generations
        self._trainer = make_model_trainer(
            _answering(guarded(GRPOTrainer)),
            job,
            log,
            tokenizer,
            total_steps(job, answers),
            lambda _: self._measure(dev),
            decides="reward",
            guard=_Guard,
            has_row_ids=False,
            args=GRPOConfig(
                **trainer_arguments(job, answers, micro_batch),
                num_generations=generations,
                max_completion_length=self._answer_tokens,
            ),
            reward_funcs=[self._reward],
            train_dataset=dataset_of(_prompts(rows)),
        )
        finish_training(self._trainer, lambda: make_model(job, CAUSAL))
        if not self._has_learnt and not job.resume:
            raise StopError(self._nothing_learnt(0.0, [row["id"] for row in rows]))
        if is_first():
            write_result(job, self._trainer, tokenizer, dev[0].ids, CAUSAL, log)

    def _reward(
        self, prompts: Any, completions: Any, completion_ids: Any, row: list[str], **arguments: Any
    ) -> list[float]:
        """Return the reward of each answer; answers to one prompt stand together."""
        texts = [messages[-1]["content"] for messages in completions]
        scores = self._score(row, texts)
        self._trainer.guard.rows += list(dict.fromkeys(row))
        self._trainer.guard.tokens += sum(map(len, completion_ids))
        self._log.write(step=self._trainer.state.global_step + 1, **_means(scores))
        rewards = [float(score["reward"]) for score in scores]
        self._check_differences(row, rewards)
        return rewards

    def _check_differences(self, rows: Sequence[str], rewards: Sequence[float]) -> None:
        """Raise StopError when no answer has been better than another for many steps.

        Only differences between the answers to a question are learnt from.
        """
        by_question: dict[str, set[float]] = {}
        for row, reward in zip(rows, rewards, strict=True):
            by_question.setdefault(row, set()).add(reward)
        mean = sum(rewards) / len(rewards)
        if any(len(different) > 1 for different in by_question.values()) or mean > ENOUGH:
            self._flat_steps, self._has_learnt = 0, True
        else:
            self._flat_steps += 1
        if self._flat_steps >= FLAT_STEPS:
            raise StopError(self._nothing_learnt(mean, by_question))

    def _nothing_learnt(self, reward: float, rows: Iterable[str]) -> str:
        return (
            f"in {self._flat_steps} steps all answers to a question got the same reward, at last"
            f" {reward:.2f} ({named(list(rows))}): nothing is learnt from that: train with method"
            " sft first, or raise -o batch"
        )

    def _score(self, rows: Sequence[str], texts: Sequence[str]) -> list[Mapping[str, float]]:
        by_row: dict[str, list[int]] = {}
        for n, row in enumerate(rows):
            by_row.setdefault(row, []).append(n)
        scores: dict[int, Mapping[str, float]] = {}
        for row, places in by_row.items():
            replies = self._rewards.score(row, [texts[n] for n in places])
            scores.update(zip(places, replies, strict=True))
        return [scores[n] for n in range(len(rows))]

    def _measure(self, dev: Sequence[Encoded]) -> dict[str, float]:
        """Return the mean scores of the likeliest answers to the dev questions."""
        texts = [self._answer(row) for row in dev]
        return _means(self._score([row.row for row in dev], texts))

    def _answer(self, row: Encoded) -> str:
        import torch

        model = self._trainer.model
        was_training = model.training
        model.eval()
        ids = torch.tensor([row.prompt], device=model.device)
        with torch.no_grad(), self._trainer.compute_loss_context_manager():
            written = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=self._answer_tokens,
                pad_token_id=self._tokenizer.pad_token_id,
            )
        model.train(was_training)
        answer: str = self._tokenizer.decode(
            written[0, len(row.prompt) :], skip_special_tokens=True
        )
        return answer


def _answering(base: Any) -> Any:
    class AnsweringTrainer(base):  # type: ignore[misc]
        def training_step(self, model: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
            """Make the step: the rewards tell the guard its rows, not the batch."""
            return super(RowsOfStep, self).training_step(model, inputs, *arguments, **options)

        def _prepare_inputs(self, generation_batch: Any) -> Any:
            """Draw answers. Raises StopError where bad weights show first."""
            try:
                return super()._prepare_inputs(generation_batch)
            except RuntimeError as error:
                if "probability tensor" not in str(error):
                    raise
                rows = list(dict.fromkeys(example[ROW] for example in generation_batch))
                raise StopError(
                    f"no answer can be drawn in step {self.state.global_step + 1}, because scores"
                    f" of tokens are not finite ({named(rows)}): set a smaller"
                    " -o learning_rate; the last checkpoint is good"
                ) from error

    return AnsweringTrainer


def _prompts(rows: Sequence[Row]) -> dict[str, list[Any]]:
    return {
        "prompt": [row["messages"][:-1] for row in rows],
        ROW: [str(row["id"]) for row in rows],
    }


def _means(scores: Sequence[Mapping[str, float]]) -> dict[str, float]:
    names = ("reward", "supported", "covered", "refused")
    return {name: sum(float(score[name]) for score in scores) / len(scores) for name in names}


if __name__ == "__main__":
    sys.exit(main(train))
