"""BERTScore: tokens matched by the similarity of their embeddings in a local model.

It loads any model that ragkit embeds with.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.embed.find import default_model, find_model
from ragkit.embed.pipeline import quiet_loading
from ragkit.embed.tokens import Tokens, load_tokens
from ragkit.errors import ModelError, UsageError
from ragkit_eval.metrics.rouge import Rouge, balanced

if TYPE_CHECKING:
    from torch import Tensor

_CACHED_TEXTS = 512  # a text of 100 tokens is 150 KB
_BATCH = 32


class BertScore:
    """Scores with one model. Constructing is cheap; `load` or the first score reads the model."""

    def __init__(self, model: str | None = None) -> None:
        """Choose a model by a name that `ragkit.embed` finds; None is the model that ragkit brings.

        A name is a folder, a hub name in the cache or a packaged model.
        """
        self.model = model or default_model()
        self._loaded: tuple[Any, Tokens] | None = None
        self._embedded = lru_cache(maxsize=_CACHED_TEXTS)(self._embed)

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError if it cannot be loaded."""
        if self._loaded is None:
            folder = find_model(self.model).folder
            self._loaded = _load(folder), load_tokens(folder)

    def score(self, prediction: str, references: str | Sequence[str]) -> Rouge:
        """Return precision, recall and F of the reference with the highest F.

        P = mean over the prediction's tokens of the greatest cosine with a token of the reference,
        R likewise for the reference's tokens, F = 2PR/(P+R); a negative mean counts as 0. The
        embeddings are those of the last layer without special tokens; a text that is longer than
        the model's limit is embedded in consecutive pieces. Identical texts score 1; disjoint
        texts score more than 0, because most embeddings of a model are similar: compare only
        values of the same model. Two texts without a token score 1, one without a token scores 0.
        Raises UsageError without a reference, and ModelError. Source: Zhang et al. 2020,
        https://openreview.net/forum?id=SkeHuCVFDr.
        """
        texts = (references,) if isinstance(references, str) else references
        if not texts:
            raise UsageError("BERTScore needs at least one reference: give one")
        prediction_rows = self._embedded(prediction)
        return max(
            (_matched(prediction_rows, self._embedded(text)) for text in texts),
            key=lambda score: score.f,
        )

    def signature(self) -> str:
        """Return the model and the options that the values depend on."""
        files = find_model(self.model)
        return f"bertscore|model:{files.name}|rev:{files.revision}|layer:last|idf:no|scale:no|v:1"

    def _embed(self, text: str) -> Tensor:
        """Embed a text's tokens; shape (tokens, dimension), each row of length 1."""
        import torch

        self.load()
        assert self._loaded is not None
        model, tokens = self._loaded
        pieces = _pieces(tokens, text)
        rows = []
        for first in range(0, len(pieces), _BATCH):
            rows += _run(model, pieces[first : first + _BATCH], tokens)
        width = int(model.config.hidden_size)
        embeddings = torch.cat(rows) if rows else torch.zeros((0, width))
        return torch.nn.functional.normalize(embeddings, dim=1)


def _load(folder: Path) -> Any:
    """Load a model's folder without network, remote code or pickled weights."""
    from transformers import AutoModel

    try:
        with quiet_loading():
            model = AutoModel.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False, use_safetensors=True
            )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise ModelError(
            f"model folder {folder} cannot be loaded for BERTScore ({reason}): name another"
        ) from error
    return model.eval()


def _pieces(tokens: Tokens, text: str) -> list[list[int]]:
    """Cut a text's token ids, without special tokens, into pieces within the model's limit."""
    ids = tokens.tokenizer.encode(text, add_special_tokens=False).ids
    limit = tokens.limit - tokens.special
    return [ids[start : start + limit] for start in range(0, len(ids), limit)]


def _run(model: Any, pieces: list[list[int]], tokens: Tokens) -> list[Tensor]:
    """Embed pieces between the model's special tokens, and drop the embeddings of those."""
    import torch

    empty = tokens.tokenizer.encode("", add_special_tokens=True).ids
    # [CLS] first, [SEP] last; a single special token is first
    head_size = tokens.special - tokens.special // 2
    head, tail = empty[:head_size], empty[head_size:]
    longest = max(len(piece) for piece in pieces) + len(empty)
    ids = torch.zeros((len(pieces), longest), dtype=torch.long)
    mask = torch.zeros((len(pieces), longest), dtype=torch.long)
    for row, piece in enumerate(pieces):
        padded = [*head, *piece, *tail]
        ids[row, : len(padded)] = torch.tensor(padded)
        mask[row, : len(padded)] = 1
    with torch.inference_mode():
        hidden = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    return [
        hidden[row, len(head) : len(head) + len(piece)].clone() for row, piece in enumerate(pieces)
    ]


def _matched(prediction: Tensor, reference: Tensor) -> Rouge:
    if not len(prediction) or not len(reference):
        both_empty = float(len(prediction) == len(reference))
        return Rouge(both_empty, both_empty, both_empty)
    cosines = prediction @ reference.T
    precision = float(cosines.max(dim=1).values.mean())
    recall = float(cosines.max(dim=0).values.mean())
    return balanced(min(max(precision, 0.0), 1.0), min(max(recall, 0.0), 1.0))
