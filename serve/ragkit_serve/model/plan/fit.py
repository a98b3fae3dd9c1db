"""What fits: weights, KV cache and helpers against the memory there is, for each quantization."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragkit.errors import UsageError
from ragkit_serve.model.plan.cache import CHECKED, KVCache, kv_cache
from ragkit_serve.model.plan.config import parse_config
from ragkit_serve.model.plan.memory import weight_bytes, working_bytes
from ragkit_serve.model.plan.scheme import SCHEMES, Scheme, stored_scheme
from ragkit_serve.model.plan.size import Size, model_size

if TYPE_CHECKING:
    from transformers import PretrainedConfig

_CONTEXT = 8192  # arbitrary: a RAG prompt with room for its answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is wanted: bytes of memory on each of `gpus` devices, tokens of context, sequences.

    `context` None is 8192, or the model's limit. `share` is the part of the memory that the engine
    may take at most; `others_bytes` what an embedding model and a reranker take of the first
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
    """One quantization: bytes on each device, and how much context is left for it.

    `longest` are the tokens that each of the wanted sequences could have, 0 when the weights alone
    do not fit; `fits` says whether that is as many as wanted.
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

    `cache` is on each device; `checked` says whether the architecture's cache has been compared
    with a real one; `share` is the engine's part of the memory, after what the others take.
    """

    wish: Wish
    size: Size
    rows: Sequence[Row]
    cache: KVCache
    context: int
    share: float
    architecture: str
    checked: bool

    @property
    def best(self) -> Row | None:
        """The row to take: the most exact on a GPU, the smallest on a CPU, as it is the fastest.

        A CPU reads every weight from its memory for each token. llama.cpp, which answers one
        question at a time, is taken only where no more are wanted.
        """
        fitting = [row for row in self.rows if row.fits and self._answers(row)]
        if self.wish.on_gpu:
            return fitting[0] if fitting else None
        return fitting[-1] if fitting else None  # w4a16, or Q4_K_M

    @property
    def one_at_a_time(self) -> Row | None:
        """The row that would fit on llama.cpp if one answer at a time were enough."""
        return next((row for row in self.rows if row.fits and not self._answers(row)), None)

    @property
    def longest(self) -> int:
        """The most tokens that each of the wanted sequences can have in any row."""
        return max((row.longest for row in self.rows if self._answers(row)), default=0)

    def _answers(self, row: Row) -> bool:
        return self.wish.concurrency == 1 or not row.scheme.llamacpp


def make_plan(config: dict[str, Any], wish: Wish, *, files_bytes: int | None = None) -> Plan:
    """Plan for a config.json's values. Raises UsageError, ModelError.

    A checkpoint that is quantized already has one row: its own, as large as its files if
    `files_bytes` says so.
    """
    parsed = parse_config(config)
    text: PretrainedConfig = parsed.get_text_config()
    stored = stored_scheme(config)
    limit = max(0, int(getattr(text, "max_position_embeddings", None) or 0))
    context = _context(wish.context, limit)
    size = model_size(parsed, left=stored.left if stored else ())
    cache = kv_cache(text, bytes_each=1 if wish.fp8_cache else 2).on_each(wish.gpus)
    _check_gpus(text, wish.gpus, cache.parts)
    share = _share(wish)
    rows = []
    for scheme in _schemes(stored, wish):
        whole = files_bytes if stored and files_bytes else weight_bytes(size, scheme)
        rows.append(_row(text, scheme, whole, wish, context, limit or context, share))
    kind = str(text.model_type)
    return Plan(wish, size, rows, cache, context, share, kind, checked=kind in CHECKED)


def _schemes(stored: Scheme | None, wish: Wish) -> list[Scheme]:
    """Choose the rows. Raises UsageError for a quantization that the checkpoint rules out."""
    wanted = wish.quantization
    if stored is None:
        there = [scheme for scheme in SCHEMES if wish.on_gpu or scheme.on_cpu]
        found = [scheme for scheme in there if wanted is None or wanted in scheme.options]
        if not found:
            known = dict.fromkeys(option for scheme in there for option in scheme.options)
            raise UsageError(
                f"there is no plan for --quantization {wanted!r} here: choose one of"
                f" {', '.join(known)}"
            )
        return found
    if wanted not in {None, stored.name}:
        raise UsageError(
            f"the checkpoint is quantized by {stored.name}, not by {wanted}: leave --quantization"
            " out, or plan for the original model"
        )
    return [stored]


def _share(wish: Wish) -> float:
    """Return the engine's part of the memory, in hundredths: the helpers keep theirs.

    vLLM takes its part of the whole memory, and does not start when less than that is free.
    """
    free = 1 - wish.others_bytes / wish.memory_bytes
    return max(0.0, min(wish.share, math.floor(free * 100) / 100))


def _row(
    config: PretrainedConfig,
    scheme: Scheme,
    whole: int,
    wish: Wish,
    context: int,
    limit: int,
    share: float,
) -> Row:
    sequences = 1 if scheme.llamacpp else wish.concurrency
    fp8 = wish.fp8_cache and not scheme.llamacpp
    cache = kv_cache(config, bytes_each=1 if fp8 else 2).on_each(wish.gpus)
    weights = -(-whole // wish.gpus)
    working = working_bytes(
        config,
        sequences=sequences,
        memory_bytes=wish.memory_bytes,
        gpus=wish.gpus,
        on_gpu=wish.on_gpu,
        llamacpp=scheme.llamacpp,
    )
    room = int(wish.memory_bytes * share) - weights - working
    needed = cache.sequence_bytes(context) * sequences
    longest = _longest(cache, room // sequences, limit)
    return Row(scheme, weights, needed, working, room - needed, longest, room >= needed)


def _longest(cache: KVCache, room: int, limit: int) -> int:
    """Return the most tokens of one sequence, at most `limit`, whose cache is within the room."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        fits = cache.sequence_bytes(middle) <= room
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def _context(wanted: int | None, limit: int) -> int:
    if limit and wanted and wanted > limit:
        raise UsageError(f"the model reads at most {limit} tokens, not {wanted}: ask for less")
    return wanted or min(_CONTEXT, limit or _CONTEXT)


def _check_gpus(config: PretrainedConfig, gpus: int, parts: int) -> None:
    """Raise UsageError where vLLM could not share the attention heads evenly."""
    heads = int(getattr(config, "num_attention_heads", None) or parts)
    if heads % gpus or (parts % gpus and gpus % parts):
        raise UsageError(
            f"{heads} attention heads, {parts} of them with keys and values, cannot be shared by"
            f" {gpus} GPUs: take a number that divides them"
        )
