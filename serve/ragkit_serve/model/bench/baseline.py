"""The baseline: the same prompts through transformers in this process, one after the other.

What a program gets that loads the model itself: greedy `generate` with a streamer, batch 1, no
prefix cache. Times are taken as each token is made.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

from ragkit.errors import ModelServerError
from ragkit_serve.model.bench.load import level_mark
from ragkit_serve.model.bench.record import Level, Run
from ragkit_serve.model.bench.summary import Row, summarise
from ragkit_serve.model.bench.workload import Prompt, Workload, marked, warm_ups

if TYPE_CHECKING:
    from ragkit.model.local_generate import Loaded


class _Arrivals:
    """A streamer that notes when each token is made; the first call brings the prompt."""

    def __init__(self) -> None:
        self.times: list[float] = []
        self._seen_prompt = False

    def put(self, value: Any) -> None:
        if self._seen_prompt:
            self.times.append(perf_counter())
        self._seen_prompt = True

    def end(self) -> None:
        """Do nothing: the last token has been noted."""


def measure_baseline(
    model: str, workload: Workload, requests: int, *, mark: str, progress: Callable[[], None]
) -> Run:
    """Measure the first `requests` prompts. Raises ModelError when the model cannot be had."""
    from ragkit.model.local_generate import load, place

    loaded = load(model, place(None))
    mark = level_mark(mark, "baseline")
    prompts = [marked(prompt, mark) for prompt in workload.prompts[:requests]]
    warm = _row(loaded, marked(warm_ups(workload.prompts, 1)[0], mark), workload, 0, perf_counter())
    if warm.error:
        raise ModelServerError(f"model {model!r} answers no prompt of this benchmark: {warm.said}")
    began, busy = perf_counter(), process_time()
    rows = []
    for number, prompt in enumerate(prompts):
        rows.append(_row(loaded, prompt, workload, number, began))
        progress()
    wall = perf_counter() - began
    return Run(
        engine="transformers",
        model=f"{model} ({loaded.model.dtype}, {loaded.model.device.type})".replace("torch.", ""),
        level=Level(concurrency=1),
        summary=summarise(rows, wall),
        rows=tuple(rows),
        tokens_from="usage",
        client_cpu_share=round((process_time() - busy) / wall, 3),
    )


def _row(loaded: Loaded, prompt: Prompt, workload: Workload, number: int, began: float) -> Row:
    import torch

    arrivals, sent = _Arrivals(), perf_counter()
    try:
        length = _generate(loaded, prompt, workload, arrivals)
    except (RuntimeError, ValueError, ModelServerError, torch.OutOfMemoryError) as error:
        words = " ".join(str(error).split())[:200]
        return Row(
            number=number, group=prompt.group, start_s=sent - began,
            e2e_s=perf_counter() - sent, error="generate", said=words,
        )  # fmt: skip
    times = arrivals.times
    return Row(
        number=number,
        group=prompt.group,
        start_s=sent - began,
        e2e_s=times[-1] - sent,
        ttft_s=times[0] - sent,
        gaps_s=tuple(b - a for a, b in pairwise(times)),
        prompt_tokens=length,
        output_tokens=len(times),
    )


def _generate(loaded: Loaded, prompt: Prompt, workload: Workload, arrivals: _Arrivals) -> int:
    import torch

    messages = [{"role": m.role, "content": m.content} for m in prompt.messages]
    ids = loaded.prompt(messages)
    room = loaded.context_tokens
    if room is not None and ids.shape[1] + workload.answer_tokens > room:
        raise ModelServerError(
            f"the prompt has {ids.shape[1]} tokens and the model's context {room}: lower"
            " --prompt-tokens or --answer-tokens"
        )
    tokenizer = loaded.tokenizer
    with torch.inference_mode():
        loaded.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=workload.answer_tokens,
            min_new_tokens=workload.answer_tokens if workload.ignore_eos else None,
            do_sample=False,
            temperature=None,
            top_p=None,
            top_k=None,
            streamer=arrivals,
            pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
        )
    return int(ids.shape[1])
