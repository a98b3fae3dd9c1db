"""Late interaction: query and passage are encoded apart, token by token, and compared by MaxSim.

score = sum over the query's tokens of the highest cosine with any of the passage's tokens
(Khattab and Zaharia 2020, arXiv:2004.12832), or its mean where the model is configured so. The
network, its markers and its masks are sentence-transformers' business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, Final

from ragkit.embed.find import ModelFiles, find_model, read_json
from ragkit.embed.tokens import Tokens, load_tokens
from ragkit.errors import ModelError
from ragkit.rerank.parts import batch_budget, score_in_parts

_SPARE: Final = 8  # tokens: specials, a marker, and what a part's edges may add


class LateReranker:
    """Rerank with a sentence-transformers MultiVectorEncoder (ColBERT), by name or folder.

    A passage of more tokens than the model reads gets the score of its best part.
    """

    def __init__(self, model: str, *, device: str | None = None) -> None:
        self.model = model
        self._device = device
        self._loaded: _Loaded | None = None
        self._lock = Lock()

    def load(self) -> None:
        """Load the model and run it once; a second call does nothing. Raises ModelError."""
        with self._lock:
            if self._loaded is None:
                files = find_model(self.model, kind="reranker")
                loaded = _Loaded(
                    f"late:{files.name}@{files.revision}",
                    load_tokens(files.folder),
                    _network(files, self._device),
                )
                loaded.scores("warm", ["up"])
                self._loaded = loaded

    @property
    def name(self) -> str:
        """Name the model and its version."""
        return self._ready.name

    def rerank(self, query: str, passages: Sequence[str]) -> Sequence[float]:
        """Score each passage, in the given order."""
        return self._ready.scores(query, passages) if passages else []

    @property
    def _ready(self) -> _Loaded:
        if self._loaded is None:
            self.load()
        assert self._loaded is not None
        return self._loaded


@dataclass(frozen=True, slots=True)
class _Loaded:
    name: str
    tokens: Tokens
    network: Any

    def scores(self, query: str, passages: Sequence[str]) -> list[float]:
        """Score passages against a query; their token vectors live for one batch only."""
        stated = getattr(self.network[0], "document_length", None)
        room = max(1, min(stated or self.tokens.limit, self.tokens.limit) - _SPARE)
        query_vectors = self.network.encode_query([query], show_progress_bar=False)

        def score(pieces: list[str]) -> Sequence[float]:
            encoded = self.network.encode_document(
                pieces, batch_size=len(pieces), show_progress_bar=False
            )
            scores: list[float] = self.network.similarity(query_vectors, encoded)[0].tolist()
            return scores

        budget = batch_budget(self.network.device.type)
        return score_in_parts(
            passages, self.tokens, score, room=room, query_tokens=1, batch_tokens=budget
        )


def _network(files: ModelFiles, device: str | None) -> Any:
    _check(files)
    import torch
    from sentence_transformers import MultiVectorEncoder

    from ragkit.embed.pipeline import load_offline
    from ragkit.embed.precision import torch_dtype

    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    model = load_offline(MultiVectorEncoder, files.folder, device, "multi-vector", "reranker")
    return model.to(torch_dtype(device)).eval()


def _check(files: ModelFiles) -> None:
    """Raise ModelError for a model that would be given a projection at random."""
    library = read_json(files.folder / "config_sentence_transformers.json").get("model_type")
    kinds = read_json(files.folder / "config.json").get("architectures") or [""]
    native = kinds[0] == "HF_ColBERT" or kinds[0].endswith("ForRetrieval")
    if library not in ("MultiVectorEncoder", "ColBERT") and not native:
        raise ModelError(
            f"reranker {files.name} is no multi-vector model but {kinds[0] or 'of no known kind'}:"
            " name a ColBERT, or take late: away for a cross-encoder"
        )
