"""Plan for each quantization whether weights, KV cache and helpers fit into the memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit.model_size.config import parse_config
from ragkit.model_size.size import Size, model_size
from ragkit_models.plan.cache import CHECKED, KVCache, kv_cache
from ragkit_models.plan.memory import weight_bytes, working_bytes
from ragkit_models.plan.scheme import SCHEMES, Scheme, stored_scheme

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_CONTEXT = 8192  # arbitrary: a RAG prompt with room for its answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The hardware and the load to plan for; `memory_bytes` is that of each of `gpus` devices.

    `context` None is 8192, or the model's limit. `share` is the largest part of the memory that
    the engine may take; `others_bytes` is taken by an embedding model and a reranker on the first
    device. `quantization` is one of `ragkit model serve`'s; None compares all.
    """

    memory_bytes: int
    gpus: int = 1
    on_gpu: bool = True
    context: int | None = None
    concurrency: int = 4
    share: float = 0.9
    fp8_cache: bool = False
    others_bytes: int = 0
    quantization: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One quantization: its bytes on each device, and the context that fits beside them.

    `longest` is how many tokens each requested sequence could have, 0 when the weights alone do
    not fit; `fits` says whether that is enough.
    """

    scheme: Scheme
    weights: int
    cache: int
    working: int
    free: int
    longest: int
    fits: bool


@dataclass(frozen=True, slots=True)
class Plan:
    """A model's size and its rows, the most exact number format first.

    `cache` is that of each device; `checked` says whether the architecture's cache was compared
    with a real one; `share` is the engine's part of the memory, without the helpers' part.
    """

    target: Target
    size: Size
    rows: Sequence[Row]
    cache: KVCache
    context: int
    share: float
    architecture: str
    checked: bool

    @property
    def best(self) -> Row | None:
        """Return the most exact row that fits a GPU, or the smallest, the fastest, that fits a CPU.

        A CPU reads every weight from its memory for each token. llama.cpp answers one question at
        a time, so its rows count only where the concurrency is 1.
        """
        fitting = [row for row in self.rows if row.fits and self._answers(row)]
        if self.target.on_gpu:
            return fitting[0] if fitting else None
        return fitting[-1] if fitting else None  # w4a16, or Q4_K_M

    @property
    def one_at_a_time(self) -> Row | None:
        """Return the row of llama.cpp that would fit if one answer at a time were enough."""
        return next((row for row in self.rows if row.fits and not self._answers(row)), None)

    @property
    def longest(self) -> int:
        """Return the largest number of tokens that each requested sequence can have in any row."""
        return max((row.longest for row in self.rows if self._answers(row)), default=0)

    def _answers(self, row: Row) -> bool:
        return self.target.concurrency == 1 or not row.scheme.llamacpp


def make_plan(config: dict[str, Any], target: Target, *, files_bytes: int | None = None) -> Plan:
    """Plan for a config.json's values. Raises UsageError, ModelError.

    A quantized checkpoint has one row, of the size `files_bytes` where that is known.
    """
    parsed = parse_config(config)
    text: PretrainedConfig = parsed.get_text_config()
    stored = stored_scheme(config)
    limit = max(0, int(getattr(text, "max_position_embeddings", None) or 0))
    context = _context(target.context, limit)
    size = model_size(parsed, unquantized=stored.unquantized if stored else ())
    cache = kv_cache(text, number_bytes=1 if target.fp8_cache else 2).on_each(target.gpus)
    _check_gpus(text, target.gpus, cache.parts)
    share = _share(target)
    rows = []
    for scheme in _schemes(stored, target):
        total = files_bytes if stored and files_bytes else weight_bytes(size, scheme)
        rows.append(_row(text, scheme, total, target, context, limit or context, share))
    kind = str(text.model_type)
    return Plan(target, size, rows, cache, context, share, kind, checked=kind in CHECKED)


def _schemes(stored: Scheme | None, target: Target) -> list[Scheme]:
    """Choose the rows. Raises UsageError for a quantization that the checkpoint rules out."""
    name = target.quantization
    if stored is None:
        available = [scheme for scheme in SCHEMES if target.on_gpu or scheme.on_cpu]
        schemes = [scheme for scheme in available if name is None or name in scheme.options]
        if not schemes:
            options = dict.fromkeys(option for scheme in available for option in scheme.options)
            raise UsageError(
                f"there is no plan for --quantization {name!r} here: choose one of"
                f" {', '.join(options)}"
            )
        return schemes
    if name not in {None, stored.name}:
        raise UsageError(
            f"the checkpoint is quantized by {stored.name}, not by {name}: leave --quantization"
            " out, or plan for the original model"
        )
    return [stored]


def _share(target: Target) -> float:
    """Return the engine's part of the memory, in hundredths, without the helpers' part.

    vLLM takes its part of the total memory, and does not start when less than that is free.
    """
    free = 1 - target.others_bytes / target.memory_bytes
    return max(0.0, min(target.share, math.floor(free * 100) / 100))


def _row(
    config: PretrainedConfig,
    scheme: Scheme,
    total: int,
    target: Target,
    context: int,
    limit: int,
    share: float,
) -> Row:
    sequences = 1 if scheme.llamacpp else target.concurrency
    fp8 = target.fp8_cache and not scheme.llamacpp
    cache = kv_cache(config, number_bytes=1 if fp8 else 2).on_each(target.gpus)
    weights = -(-total // target.gpus)
    working = working_bytes(
        config,
        sequences=sequences,
        memory_bytes=target.memory_bytes,
        gpus=target.gpus,
        on_gpu=target.on_gpu,
        llamacpp=scheme.llamacpp,
    )
    room = int(target.memory_bytes * share) - weights - working
    needed = cache.sequence_bytes(context) * sequences
    longest = _longest(cache, room // sequences, limit)
    return Row(scheme, weights, needed, working, room - needed, longest, room >= needed)


def _longest(cache: KVCache, room: int, limit: int) -> int:
    """Return how many tokens of one sequence, at most `limit`, have a cache within the room."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        fits = cache.sequence_bytes(middle) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _context(requested: int | None, limit: int) -> int:
    if limit and requested and requested > limit:
        raise UsageError(f"the model reads at most {limit} tokens, not {requested}: ask for less")
    return requested or min(_CONTEXT, limit or _CONTEXT)


def _check_gpus(config: PretrainedConfig, gpus: int, parts: int) -> None:
    """Raise UsageError where vLLM cannot divide the attention heads evenly."""
    heads = int(getattr(config, "num_attention_heads", None) or parts)
    if heads % gpus or (parts % gpus and gpus % parts):
        raise UsageError(
            f"{heads} attention heads, {parts} of them with keys and values, cannot be shared by"
            f" {gpus} GPUs: take a number that divides them"
        )
