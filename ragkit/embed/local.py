"""The embedder that runs on this machine: batches by token budget over one loaded model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from ragkit.embed.find import ModelFiles, default_model, find_model, full_name
from ragkit.embed.forward_pass import one_thread, run
from ragkit.embed.limits import check_length, choose_dimension
from ragkit.embed.models import ModelCard, model_card, readable_share, space_of
from ragkit.embed.tokens import Tokens, TokenSpans, load_tokens
from ragkit.system.cancellation import check_cancelled
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    import torch

    from ragkit.contracts import Vectors
    from ragkit.embed.contract import Row

    Encoder = Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]

# Padded tokens per batch. On two CPU cores 512, 1,024, 2,048 and 4,096 gave the default model, in
# int8, 6,240, 7,360, 6,760 and 6,020 tokens a second, and MiniLM in float32, beside other programs,
# the same within a tenth from 1,024 to 4,096. Of 1,024 tokens 2% are padding where passages are
# long. The figure for GPUs is arbitrary: enough to fill one, little memory.
_CPU_BATCH_TOKENS = 1024
_GPU_BATCH_TOKENS = 65536
# oneDNN keeps the code of its last products, one for each shape of a batch; by itself 1,024, which
# came to 150 MB and more. 128 take 30 MB and no more time; 32 make a question 1.4 ms slower.
_KEPT_PRODUCTS = "128"


class LocalEmbedder:
    """Embed with a sentence-transformers model, by name or folder, on CPU or GPU.

    Without a name it takes the default model, which comes with the installation. Weights take the
    number format that the machine is fastest in (`ragkit.embed.precision`). `dimension` keeps the
    first so many of the model's and makes them unit vectors again: for models trained so that these
    say the most (Matryoshka, arXiv:2205.13147); others lose much by it.
    """

    def __init__(
        self,
        model: str | None = None,
        *,
        device: str | None = None,
        batch_tokens: int | None = None,
        dimension: int | None = None,
    ) -> None:
        self.model = full_name(model or default_model())
        self._device = device
        self._dimension = dimension
        self._batch_tokens = batch_tokens
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError when it cannot be had."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self.model, self._device, self._batch_tokens, self._dimension)

    def load_program(self) -> None:
        """Load the model as what answers many queries side by side is to run it, where it can.

        It takes half a second more; see `ragkit.embed.int8_script`. The vectors stay the same.
        """
        from ragkit.embed.int8_script import write_program

        ready = self._ready
        if program := write_program(ready.encoder):
            with self._lock:
                self._loaded = replace(ready, encoder=program)

    @property
    def space(self) -> EmbeddingSpace:
        """Name the space of its vectors."""
        return self._ready.space

    @property
    def max_tokens(self) -> int:
        """Count the tokens of text that fit into one passage beside prefix and special tokens."""
        return self._ready.max_tokens

    def token_spans(self, text: str) -> TokenSpans:
        """Split a text of any length into the model's tokens."""
        return self._ready.tokens.spans(text)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Embed passages, shape (len(texts), dimension), in the given order.

        Raises ModelError for a text of more than `max_tokens` tokens.
        """
        ready = self._ready
        rows = self.passage_ids(texts)
        for text, row in zip(texts, rows, strict=True):
            ready.check(row, f"passage {text[:40]!r}")
        return self.embed_ids(rows)

    def prefix_ids(self) -> Row:
        """Return the tokens of the passage prefix; none where there is no prefix."""
        return self._ready.prefix

    def passage_ids(self, texts: Sequence[str]) -> list[Row]:
        """Tokenise passages of any length, each as a row with the prefix before it."""
        prefix = self._ready.space.passage_prefix
        return self._ready.tokens.ids([prefix + text for text in texts])

    def embed_ids(self, rows: Sequence[Row]) -> Vectors:
        """Embed passages by their tokens, shape (len(rows), dimension), in the given order.

        Rows are as `passage_ids` makes them; the special tokens are added here. Raises ModelError
        for a row of more than `max_tokens` tokens besides its prefix, WorkCancelledError between
        two batches.
        """
        import numpy as np

        ready = self._ready
        for row in rows:
            ready.check(row, "a passage")
        vectors = np.empty((len(rows), ready.space.dimension), dtype=np.float32)
        lengths = [len(row) + ready.tokens.special for row in rows]
        for batch in batches(lengths, ready.batch_tokens):
            check_cancelled()
            vectors[batch] = ready.encode([rows[index] for index in batch])
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Embed one query, shape (dimension,); a query over the limit is cut."""
        check_cancelled()
        ready = self._ready
        row = ready.tokens.cut_ids(ready.space.query_prefix + text)
        with one_thread():
            vector: Vectors = ready.encode([row])[0]
        return vector

    def reads(self, text: str) -> float:
        """Estimate the share of a text's terms that the model can read; needs no `load`."""
        return readable_share(self._card, text)

    @cached_property
    def _card(self) -> ModelCard:
        return model_card(self.model, Path(self.model))

    @property
    def _ready(self) -> _Loaded:
        if self._loaded is None:
            self.load()
        assert self._loaded is not None
        return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    space: EmbeddingSpace
    tokens: Tokens
    encoder: Encoder
    device: str
    batch_tokens: int
    prefix: Row

    @property
    def max_tokens(self) -> int:
        return self.tokens.limit - self.tokens.special - len(self.prefix)

    def check(self, row: Row, name: str) -> None:
        """Raise ModelError for a row that is too long for the model."""
        tokens = len(row) + self.tokens.special
        check_length(
            name, tokens, model=self.space.model, limit=self.tokens.limit, room=self.max_tokens
        )

    def encode(self, rows: Sequence[Row]) -> Vectors:
        """Run one batch of rows, (b, d) float32 of length 1."""
        import torch

        vectors = run(self.encoder, rows, self.device, self.tokens.frame)[:, : self.space.dimension]
        unit: Vectors = torch.nn.functional.normalize(vectors, dim=1).cpu().numpy()
        return unit


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Group indices, longest first, so that each batch padded stays within a token budget.

    >>> list(batches([3, 9, 4, 2], 10))
    [[1], [2, 0], [3]]
    """
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and lengths[batch[0]] * (len(batch) + 1) > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def identify(model: str) -> EmbeddingSpace:
    """Tell a model's space without loading the model; its dimension is 0: not known yet.

    Raises ModelError when the model cannot be found.
    """
    return _space(find_model(model), 0)


def _space(files: ModelFiles, dimension: int) -> EmbeddingSpace:
    return space_of(files.name, files.revision, files.folder, dimension)


def _load(
    model: str, device: str | None, batch_tokens: int | None, dimension: int | None
) -> _Loaded:
    files = find_model(model)
    tokens = load_tokens(files.folder)
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", _KEPT_PRODUCTS)  # read once, later
    import torch

    from ragkit.embed.bert import load_bert
    from ragkit.embed.int8 import load_int8
    from ragkit.embed.pipeline import load_pipeline
    from ragkit.embed.precision import torch_dtype
    from ragkit.embed.projection import ProjectedEncoder, load_projection

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch_dtype(device)
    encoder: Encoder | None = load_int8(files.folder) if device == "cpu" else None
    encoder = encoder or load_bert(files.folder, device, dtype)
    if encoder is None:
        encoder = load_pipeline(files.folder, device, dtype)
    elif (matrix := load_projection(files.folder, device)) is not None:
        encoder = ProjectedEncoder(encoder, matrix)
    available = run(encoder, [tokens.cut_ids("a")], device, tokens.frame).shape[1]
    space = _space(files, choose_dimension(files.name, available, dimension))
    return _Loaded(
        space=space,
        tokens=tokens,
        encoder=encoder,
        device=device,
        batch_tokens=batch_tokens or (_CPU_BATCH_TOKENS if device == "cpu" else _GPU_BATCH_TOKENS),
        prefix=tokens.ids([space.passage_prefix.rstrip()])[0],
    )
