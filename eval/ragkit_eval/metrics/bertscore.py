"""BERTScore: tokens matched by the likeness of their embeddings in a model of this machine.

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

_KEPT_TEXTS = 512  # a text of 100 tokens is 150 KB
_AT_ONCE = 32


class BertScore:
    """Scores with one model. Construct it cheaply; `load` or the first score reads the model."""

    def __init__(self, model: str | None = None) -> None:
        """Name a model as `ragkit.embed` finds it; None stands for the one that comes with ragkit.

        A name is a folder, a hub name in the cache or a packaged model.
        """
        self.model = model or default_model()
        self._loaded: tuple[Any, Tokens] | None = None
        self._embedded = lru_cache(maxsize=_KEPT_TEXTS)(self._embed)

    def load(self) -> None:
        """Load the model; a second call does nothing. Raises ModelError when it cannot be had."""
        if self._loaded is None:
            folder = find_model(self.model).folder
            self._loaded = _load(folder), load_tokens(folder)

    def score(self, prediction: str, references: str | Sequence[str]) -> Rouge:
        """Return precision, recall and F of the reference with the highest F.

        P = mean over the prediction's tokens of the greatest cosine with a token of the reference,
        R likewise for the reference's tokens, F = 2PR/(P+R); a negative mean counts as 0. The
        embeddings are the last layer's, special tokens left out; longer texts than the model takes
        are embedded in consecutive pieces. Identical texts score 1; disjoint ones do not score 0,
        as no two embeddings of a model are opposite, and most are alike: compare values of one
        model only. Two texts without a token score 1, one without scores 0. Raises UsageError
        without a reference and ModelError. Source: Zhang et al. 2020,
        https://openreview.net/forum?id=SkeHuCVFDr.
        """
        texts = (references,) if isinstance(references, str) else references
        if not texts:
            raise UsageError("BERTScore needs at least one reference: give one")
        own = self._embedded(prediction)
        return max((_matched(own, self._embedded(text)) for text in texts), key=lambda one: one.f)

    def signature(self) -> str:
        """Return all that the values depend on."""
        files = find_model(self.model)
        return f"bertscore|model:{files.name}|rev:{files.revision}|layer:last|idf:no|scale:no|v:1"

    def _embed(self, text: str) -> Tensor:
        """Embed a text's tokens, (tokens, dimension), each of length 1."""
        import torch

        self.load()
        assert self._loaded is not None
        model, tokens = self._loaded
        pieces = _pieces(tokens, text)
        rows = []
        for first in range(0, len(pieces), _AT_ONCE):
            rows += _run(model, pieces[first : first + _AT_ONCE], tokens)
        width = int(model.config.hidden_size)
        found = torch.cat(rows) if rows else torch.zeros((0, width))
        return torch.nn.functional.normalize(found, dim=1)


def _load(folder: Path) -> Any:
    """Load a folder without network, remote code or pickled weights."""
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
    """Cut a text's ids into pieces that the model takes, without special tokens."""
    ids = tokens.tokenizer.encode(text, add_special_tokens=False).ids
    most = tokens.limit - tokens.special
    return [ids[start : start + most] for start in range(0, len(ids), most)]


def _run(model: Any, pieces: list[list[int]], tokens: Tokens) -> list[Tensor]:
    """Embed pieces between the special tokens that the model is used to, and drop those again."""
    import torch

    empty = tokens.tokenizer.encode("", add_special_tokens=True).ids
    before = tokens.special - tokens.special // 2  # [CLS] before, [SEP] after; a lone one before
    head, tail = empty[:before], empty[before:]
    longest = max(len(piece) for piece in pieces) + len(empty)
    ids = torch.zeros((len(pieces), longest), dtype=torch.long)
    mask = torch.zeros((len(pieces), longest), dtype=torch.long)
    for row, piece in enumerate(pieces):
        whole = [*head, *piece, *tail]
        ids[row, : len(whole)] = torch.tensor(whole)
        mask[row, : len(whole)] = 1
    with torch.inference_mode():
        found = model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
    return [
        found[row, len(head) : len(head) + len(piece)].clone() for row, piece in enumerate(pieces)
    ]


def _matched(own: Tensor, theirs: Tensor) -> Rouge:
    if not len(own) or not len(theirs):
        same = float(len(own) == len(theirs))
        return Rouge(same, same, same)
    likeness = own @ theirs.T
    precision = float(likeness.max(dim=1).values.mean())
    recall = float(likeness.max(dim=0).values.mean())
    return balanced(min(max(precision, 0.0), 1.0), min(max(recall, 0.0), 1.0))
