"""The cross-encoder that runs on this machine: one network reads query and passage together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import TYPE_CHECKING

from ragkit.embed.find import ModelFiles, find_model, read_json
from ragkit.errors import ModelError

if TYPE_CHECKING:
    Scorer = Callable[[str, Sequence[str]], list[float]]


class CrossEncoderReranker:
    """Rerank with a sentence-transformers CrossEncoder, by name or folder, on CPU or GPU.

    Scores are the model's own, its configured activation applied. A passage of more tokens than
    the model reads gets the score of its best part. Weights take the number format that the
    machine is fastest in (`ragkit.embed.precision`).
    """

    def __init__(
        self, model: str, *, device: str | None = None, batch_tokens: int | None = None
    ) -> None:
        self.model = model
        self._device = device
        self._batch_tokens = batch_tokens
        self._loaded: tuple[str, Scorer] | None = None
        self._lock = Lock()

    def load(self) -> None:
        """Load the model and run it once; a second call does nothing. Raises ModelError."""
        with self._lock:
            if self._loaded is None:
                files = find_model(self.model, kind="reranker")
                scorer = _load(files, self._device, self._batch_tokens)
                scorer("warm", ["up"])  # the first product is slow, and a fault shows now
                self._loaded = (f"{files.name}@{files.revision}", scorer)

    @property
    def name(self) -> str:
        """Name the model and its version."""
        return self._ready[0]

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Score each passage, in the given order."""
        return self._ready[1](query, passages) if passages else []

    @property
    def _ready(self) -> tuple[str, Scorer]:
        if self._loaded is None:
            self.load()
        assert self._loaded is not None
        return self._loaded


def _load(files: ModelFiles, device: str | None, batch_tokens: int | None) -> Scorer:
    _check(files)
    import torch

    from ragkit.embed.precision import torch_dtype
    from ragkit.embed.tokens import load_tokens
    from ragkit.rerank.classifier import PairScorer, load_classifier
    from ragkit.rerank.parts import batch_budget
    from ragkit.rerank.pipeline import load_library_scorer

    tokens = load_tokens(files.folder)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch_dtype(device)
    budget = batch_tokens or batch_budget(device)
    loaded = load_classifier(files.folder, device, dtype)
    if loaded is None:
        return load_library_scorer(files.folder, tokens, device, dtype, budget)
    classifier, typed = loaded
    return PairScorer(classifier, tokens, typed, device, budget)


def _check(files: ModelFiles) -> None:
    """Raise ModelError for what would be given a head at random, or has several labels."""
    config = read_json(files.folder / "config.json")
    kind = str((config.get("architectures") or [""])[0])
    library = read_json(files.folder / "config_sentence_transformers.json").get("model_type")
    if library != "CrossEncoder" and not kind.endswith(
        ("ForSequenceClassification", "ForCausalLM")
    ):
        raise ModelError(
            f"reranker {files.name} is no cross-encoder but {kind or 'without an architecture'}:"
            " name one, or write late:MODEL for a multi-vector model"
        )
    labels = len(config.get("id2label") or [0, 1])  # transformers' default is two
    if kind.endswith("ForSequenceClassification") and labels != 1:
        raise ModelError(
            f"reranker {files.name} has {labels} labels where a reranker has one: name another"
        )
