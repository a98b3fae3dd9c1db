"""Any other cross-encoder, run by sentence-transformers: pairs of texts in, scores out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.embed.pipeline import load_offline
from ragkit.embed.tokens import Tokens
from ragkit.rerank.parts import score_in_parts

if TYPE_CHECKING:
    import torch

_SPARE = 4  # tokens; a part's edges may tokenise otherwise than they did within the whole


@dataclass(frozen=True, slots=True)
class LibraryScorer:
    """Score passages with a model's own modules and prompt, in batches of a token budget."""

    model: Any
    tokens: Tokens
    batch_tokens: int

    def __call__(self, query: str, passages: Sequence[str]) -> list[float]:
        limit = min(self.model.max_seq_length or self.tokens.limit, self.tokens.limit)
        spans = self.tokens.spans(query)
        shortened = query if len(spans) <= limit // 2 else query[: spans[limit // 2].start]
        query_tokens = self._length(shortened)
        room = max(1, limit - query_tokens - _SPARE)

        def score(pieces: list[str]) -> Sequence[float]:
            pairs = [(shortened, piece) for piece in pieces]
            scores: Sequence[float] = self.model.predict(
                pairs, batch_size=len(pairs), show_progress_bar=False
            )
            return scores

        return score_in_parts(
            passages,
            self.tokens,
            score,
            room=room,
            query_tokens=query_tokens,
            batch_tokens=self.batch_tokens,
        )

    def _length(self, query: str) -> int:
        """Count the tokens of a pair without a passage, prompt and special tokens included."""
        prompt = (self.model.prompts or {}).get(self.model.default_prompt_name)
        return int(self.model.preprocess([(query, "")], prompt=prompt)["input_ids"].shape[1])


def load_library_scorer(
    folder: Path, tokens: Tokens, device: str, dtype: torch.dtype, batch_tokens: int
) -> LibraryScorer:
    """Load a folder without network, remote code or pickled weights. Raises ModelError."""
    from sentence_transformers import CrossEncoder

    model = load_offline(CrossEncoder, folder, device, "cross-encoder", "reranker")
    return LibraryScorer(model.to(dtype).eval(), tokens, batch_tokens)
