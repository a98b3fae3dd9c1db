"""BERT's sequence classifier with one label, in plain torch: pairs of texts in, scores out.

The cross-encoders of MiniLM's, BERT's and XLM-R's families have this architecture;
sentence-transformers runs any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragkit.embed.bert import BertEncoder, bert, read_shape, stored_weights
from ragkit.embed.find import read_json
from ragkit.embed.local import batches
from ragkit.embed.tokens import Tokens
from ragkit.rerank.parts import best
from ragkit.system.cancellation import check_cancelled

if TYPE_CHECKING:
    import torch
    from tokenizers import Encoding
    from torch import Tensor

# The layers between the first token's state and the label, by the name of BERT's weights in the
# file: a tanh stands between the two.
_HEADS = {
    "bert.": (
        *("bert.pooler.dense.weight", "bert.pooler.dense.bias"),
        *("classifier.weight", "classifier.bias"),
    ),
    "roberta.": (
        *("classifier.dense.weight", "classifier.dense.bias"),
        *("classifier.out_proj.weight", "classifier.out_proj.bias"),
    ),
}


@dataclass(frozen=True, slots=True)
class Classifier:
    """Score pairs of token ids, `classifier(ids, mask, kinds)` of shape (b, s), into (b,)."""

    encoder: BertEncoder
    head: tuple[Tensor, Tensor, Tensor, Tensor]  # float32: two products cost nothing
    sigmoid: bool

    def __call__(self, ids: Tensor, mask: Tensor | None, kinds: Tensor | None) -> Tensor:
        from torch.nn.functional import linear

        pooler, pooler_bias, label, label_bias = self.head
        first = self.encoder.first(ids, mask, kinds).float()
        scores = linear(linear(first, pooler, pooler_bias).tanh(), label, label_bias)[:, 0]
        return scores.sigmoid() if self.sigmoid else scores


@dataclass(frozen=True, slots=True)
class PairScorer:
    """Score passages of any length against a query, in batches of a token budget by length.

    A passage that does not fit beside the query gets the score of its best part. A query may take
    half of what the model reads; more of it is cut.
    """

    classifier: Classifier
    tokens: Tokens
    typed: bool
    device: str
    batch_tokens: int

    def __call__(self, query: str, passages: Sequence[str]) -> list[float]:
        import torch

        pairs = [list(self._pairs(query, encoding)) for encoding in self._encoded(passages)]
        rows = [pair for of_one in pairs for pair in of_one]
        scores = torch.empty(len(rows))
        for batch in batches([len(row) for row in rows], self.batch_tokens):
            check_cancelled()
            scores[batch] = self._run([rows[index] for index in batch]).cpu()
        return best(scores.tolist(), [len(of_one) for of_one in pairs])

    def _encoded(self, texts: Sequence[str]) -> list[Encoding]:
        storable = [text.encode("utf-8", "replace").decode() for text in texts]
        encodings: list[Encoding] = self.tokens.tokenizer.encode_batch(
            storable, add_special_tokens=False
        )
        return encodings

    def _pairs(self, query: str, passage: Encoding) -> Iterator[Encoding]:
        """Put the query before each part of a passage, with the model's special tokens."""
        tokenizer, limit = self.tokens.tokenizer, self.tokens.limit
        (query_ids,) = self._encoded([query[: limit * 100]])
        query_ids.truncate(limit // 2)
        passage.truncate(limit - tokenizer.num_special_tokens_to_add(True) - len(query_ids))
        for part in (passage, *passage.overflowing):
            yield tokenizer.post_process(query_ids, part)

    def _run(self, rows: Sequence[Encoding]) -> Tensor:
        """Pad a batch on the right and score it; padding is masked, so its id is any."""
        import torch

        longest = max(len(row) for row in rows)
        ids = torch.zeros((len(rows), longest), dtype=torch.long)
        kinds, mask = torch.zeros_like(ids), torch.zeros_like(ids, dtype=torch.bool)
        for index, row in enumerate(rows):
            ids[index, : len(row)] = torch.tensor(row.ids)
            kinds[index, : len(row)] = torch.tensor(row.type_ids)
            mask[index, : len(row)] = True
        padded = not bool(mask.all())
        with torch.inference_mode():
            return self.classifier(
                ids.to(self.device),
                mask.to(self.device) if padded else None,
                kinds.to(self.device) if self.typed else None,
            )


def load_classifier(
    folder: Path, device: str, dtype: torch.dtype
) -> tuple[Classifier, bool] | None:
    """Load a folder, and tell whether it types its tokens; None for any other architecture.

    The activation is the configuration's, as sentence-transformers reads it.
    """
    config = read_json(folder / "config.json")
    sigmoid = _is_sigmoid(config, read_json(folder / "config_sentence_transformers.json"))
    shape = read_shape(folder, "cls")
    typed = _is_typed(folder) if config.get("type_vocab_size", 2) > 1 else False
    if sigmoid is None or shape is None or typed is None or _is_special(folder):
        return None
    stored = stored_weights(folder, device) or {}
    prefix = next((head for head, names in _HEADS.items() if set(names) <= stored.keys()), None)
    if prefix is None:
        return None
    inner = {name.removeprefix(prefix): weight for name, weight in stored.items()}
    encoder = bert(shape, inner, dtype)
    a, b, c, d = (stored[name].float() for name in _HEADS[prefix])
    if encoder is None or len(c) != 1:
        return None
    return Classifier(encoder, (a, b, c, d), sigmoid), typed


def _is_sigmoid(config: Mapping[str, Any], newest: Mapping[str, Any]) -> bool | None:
    """Read the activation of one label: sigmoid unless it is named; None for one not known here.

    `newest` is the file in which sentence-transformers 6 names it.
    """
    newer = config.get("sentence_transformers") or {}
    named = (
        newest.get("activation_fn")
        or newer.get("activation_fn")
        or config.get("sbert_ce_default_activation_function")
    )
    name = "Sigmoid" if named is None else str(named).rpartition(".")[2]
    return {"Sigmoid": True, "Identity": False}.get(name)


def _is_special(folder: Path) -> bool:
    """Tell whether there is more to it than a network: modules after it, or a prompt."""
    modules = read_json(folder / "config_sentence_transformers.json")
    return len(read_json(folder / "modules.json") or [0]) != 1 or bool(
        modules.get("default_prompt_name")
    )


def _is_typed(folder: Path) -> bool | None:
    """Tell whether query and passage have token types of their own; None where nothing says so."""
    config = read_json(folder / "tokenizer_config.json")
    inputs = config.get("model_input_names")
    if inputs is not None:
        return "token_type_ids" in inputs
    return True if str(config.get("tokenizer_class")).startswith("BertTokenizer") else None
