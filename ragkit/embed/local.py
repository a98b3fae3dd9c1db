"""The embedder that runs on this machine: batches by token budget over one loaded model.

It knows nothing of documents, chunks or databases.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from ragkit.embed.find import DEFAULT_MODEL, find_model
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
    format that the machine is fastest in (`ragkit.embed.precision`).
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        *,
        device: str | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        self.model = model
        self._device = device
        self._batch_tokens = batch_tokens
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError when it cannot be had."""
        with self._lock:
            if self._loaded is None:
                self._loaded = _load(self.model, self._device, self._batch_tokens)

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

        vectors = run(self.encoder, rows, self.device)
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


def _load(model: str, device: str | None, batch_tokens: int | None) -> _Loaded:
    files = find_model(model)
    tokens = load_tokens(files.folder)
    card = model_card(files.name, files.folder)
    import torch

    from ragkit.embed.bert import load_bert
    from ragkit.embed.pipeline import load_pipeline
    from ragkit.embed.precision import torch_dtype

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch_dtype(device)
    encoder: Encoder = load_bert(files.folder, device, dtype) or load_pipeline(
        files.folder, device, dtype
    )
    dimension = run(encoder, [tokens.cut_ids("a")], device).shape[1]
    prefix = len(tokens.spans(card.passage_prefix))
    return _Loaded(
        space=EmbeddingSpace(
            files.name, files.revision, dimension, card.query_prefix, card.passage_prefix
        ),
        tokens=tokens,
        encoder=encoder,
        device=device,
        batch_tokens=batch_tokens or (_CPU_BATCH_TOKENS if device == "cpu" else _GPU_BATCH_TOKENS),
        max_tokens=tokens.limit - tokens.special - prefix,
    )
