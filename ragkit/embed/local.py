"""The embedder that runs on this machine: batches by token budget over one loaded model.

It knows nothing of documents, chunks or databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from ragkit.embed.find import DEFAULT_MODEL, ModelFiles, find_model
from ragkit.embed.models import model_card, readable_share
from ragkit.embed.tokens import Tokens, TokenSpans, load_tokens
from ragkit.errors import ModelError
from ragkit.types import EmbeddingSpace

if TYPE_CHECKING:
    import torch

    from ragkit.contracts import Vectors

    Encoder = Callable[[torch.Tensor, torch.Tensor | None], torch.Tensor]

# Padded tokens per batch. On two CPU cores MiniLM peaks between 1,000 and 4,000 and loses a tenth
# to a fifth by 16,000; the figure for GPUs is arbitrary: enough to fill one, little memory.
_CPU_BATCH_TOKENS = 4096
_GPU_BATCH_TOKENS = 65536


class LocalEmbedder:
    """Embed with a sentence-transformers model, by name or folder, on CPU or GPU.

    The default model comes with the installation and needs no network. Weights take the number
    format that the machine is fastest in (`ragkit.embed.precision`). `dimension` keeps the first
    so many of the model's and makes them unit vectors again: for models trained so that these say
    the most (Matryoshka, arXiv:2205.13147); others lose much by it.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        device: str | None = None,
        batch_tokens: int | None = None,
        dimension: int | None = None,
    ) -> None:
        self.model = model
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
        import numpy as np

        ready = self._ready
        prefix, limit = ready.space.passage_prefix, ready.tokens.limit
        rows = ready.tokens.ids([prefix + text for text in texts])
        for text, row in zip(texts, rows, strict=True):
            if len(row) > limit:
                raise ModelError(
                    f"passage {text[:40]!r} has {len(row)} tokens where {ready.space.model} takes "
                    f"{limit}: make chunks of at most {ready.max_tokens} tokens"
                )
        vectors = np.empty((len(texts), ready.space.dimension), dtype=np.float32)
        for batch in batches([len(row) for row in rows], ready.batch_tokens):
            vectors[batch] = ready.encode([rows[index] for index in batch])
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Embed one query, shape (dimension,); a query over the limit is cut."""
        ready = self._ready
        ids = ready.tokens.cut_ids(ready.space.query_prefix + text)
        with _one_thread():
            row: Vectors = ready.encode([ids])[0]
        return row

    def reads(self, text: str) -> float:
        """Estimate the share of a text's terms that the model can read; needs no `load`."""
        return readable_share(model_card(self.model), text)

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
    max_tokens: int

    def encode(self, rows: Sequence[Sequence[int]]) -> Vectors:
        """Run one batch of token ids, (b, d) float32 of length 1."""
        import torch

        vectors = run(self.encoder, rows, self.device)[:, : self.space.dimension]
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


def run(encoder: Encoder, rows: Sequence[Sequence[int]], device: str) -> torch.Tensor:
    """Pad rows of ids to one length and encode them; padding is masked, so its id is any."""
    import torch

    longest = max(len(row) for row in rows)
    ids = torch.zeros((len(rows), longest), dtype=torch.long)
    mask = torch.zeros((len(rows), longest), dtype=torch.bool)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.tensor(row)
        mask[index, : len(row)] = True
    padded = not bool(mask.all())
    with torch.inference_mode():
        return encoder(ids.to(device), mask.to(device) if padded else None)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep one query on one thread.

    Its products are too small to share out: beside another busy process, two threads on two cores
    took 600 to 790 ms waiting for each other, one thread 20 to 26 ms.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def identify(model: str) -> EmbeddingSpace:
    """Tell a model's space without loading the model; its dimension is 0: not known yet.

    Raises ModelError when the model cannot be found.
    """
    return _space(find_model(model), 0)


def _space(files: ModelFiles, dimension: int) -> EmbeddingSpace:
    card = model_card(files.name, files.folder)
    prefixes = card.query_prefix, card.passage_prefix
    return EmbeddingSpace(files.name, files.revision, dimension, *prefixes)


def _load(
    model: str, device: str | None, batch_tokens: int | None, dimension: int | None
) -> _Loaded:
    files = find_model(model)
    tokens = load_tokens(files.folder)
    import torch

    from ragkit.embed.bert import load_bert
    from ragkit.embed.pipeline import load_pipeline
    from ragkit.embed.precision import torch_dtype

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch_dtype(device)
    encoder: Encoder = load_bert(files.folder, device, dtype) or load_pipeline(
        files.folder, device, dtype
    )
    own = run(encoder, [tokens.cut_ids("a")], device).shape[1]
    if dimension is not None and dimension > own:
        raise ModelError(
            f"embedding model {files.name} has {own} dimensions where the first {dimension} are"
            f" asked for: set RAGKIT_EMBED_DIMENSION to at most {own}, or not at all"
        )
    space = _space(files, dimension or own)
    return _Loaded(
        space=space,
        tokens=tokens,
        encoder=encoder,
        device=device,
        batch_tokens=batch_tokens or (_CPU_BATCH_TOKENS if device == "cpu" else _GPU_BATCH_TOKENS),
        max_tokens=tokens.limit - tokens.special - len(tokens.spans(space.passage_prefix)),
    )
