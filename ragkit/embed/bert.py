"""The BERT encoder in plain torch: token ids in, sentence vectors out.

Most small embedding models (MiniLM, BGE, E5, GTE, and the XLM-R ones) have this architecture.
Running it here saves the five seconds that importing transformers takes, for which a user of the
command line would wait. sentence-transformers runs any other architecture.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragkit.embed.find import read_json, read_tensors
from ragkit.embed.projection import PLACE, has_projection

if TYPE_CHECKING:
    import torch
    from torch import Tensor

Pooling = Literal["mean", "cls"]

_PROJECTIONS = ("query", "key", "value")
_WORDS = "embeddings.word_embeddings.weight"
JOINED = "attention.self.joined."  # query, key and value as one product: a third faster
_ARRANGED_TOKENS = 1024  # of a batch, for which the layout is the best


@dataclass(frozen=True, slots=True)
class Shape:
    """What config.json says about the network; `first_position` is 2 in RoBERTa's family."""

    layers: int
    heads: int
    epsilon: float
    first_position: int
    pooling: Pooling


@dataclass(frozen=True, slots=True)
class BertEncoder:
    """Encode batches of token ids, `encoder(ids, mask)` with shapes (b, s), into (b, d) float32.

    Vaswani et al. 2017 with the post-layer-norm of BERT (arXiv:1810.04805). `mask` is True at
    real tokens, or None when no row is padded.
    """

    shape: Shape
    weights: Mapping[str, Tensor]

    def __call__(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        if self.shape.pooling == "cls":
            return self.first(ids, mask).float()
        return mean_pool(self._hidden(ids, mask), mask)

    def first(self, ids: Tensor, mask: Tensor | None, kinds: Tensor | None = None) -> Tensor:
        """Return the last layer's state of each row's first token, (b, d).

        `kinds` (b, s) are token types, 0 where there are none. The last layer works on these
        tokens alone: with six layers a seventh of the work is spared.
        """
        return self._hidden(ids, mask, kinds, last=1)[:, 0]

    def _hidden(
        self,
        ids: Tensor,
        mask: Tensor | None,
        kinds: Tensor | None = None,
        last: int | None = None,
    ) -> Tensor:
        """Run all layers, (b, s, d); the last one for the first `last` tokens only."""
        hidden = sum_embeddings(self.shape, self.weights, ids, kinds)
        hidden = self._norm("embeddings.LayerNorm.", hidden)
        attention = None if mask is None else mask[:, None, None, :]
        for layer in range(self.shape.layers):
            positions = last if layer == self.shape.layers - 1 else None
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, attention, positions)
        return hidden

    def _layer(
        self, name: str, hidden: Tensor, attention: Tensor | None, positions: int | None
    ) -> Tensor:
        triple = self.linear(name + JOINED, hidden)  # (b, s, 3 d)
        query, key, value = split_heads(triple, self.shape.heads)
        mixed = attend(query[:, :, :positions], key, value, attention)
        hidden = self._norm(
            f"{name}attention.output.LayerNorm.",
            hidden[:, :positions] + self.linear(f"{name}attention.output.dense.", mixed),
        )
        wide = self.linear(f"{name}intermediate.dense.", hidden, "gelu")
        return self._norm(
            f"{name}output.LayerNorm.", hidden + self.linear(f"{name}output.dense.", wide)
        )

    def linear(
        self, name: str, hidden: Tensor, activation: Literal["none", "gelu"] = "none"
    ) -> Tensor:
        """Multiply by a matrix, add its bias, and apply GELU where asked to."""
        import torch
        from torch.nn.functional import gelu, linear

        weight, bias = self.weights[name + "weight"], self.weights[name + "bias"]
        if weight.is_mkldnn:  # see `_arrange`
            product = torch.ops.mkldnn._linear_pointwise
            output: Tensor = product(hidden, weight, bias, activation, [], "none")
            return output
        output = linear(hidden, weight, bias)
        return gelu(output) if activation == "gelu" else output

    def _norm(self, name: str, hidden: Tensor) -> Tensor:
        from torch.nn.functional import layer_norm

        weight = self.weights[name + "weight"]
        bias = self.weights[name + "bias"]
        return layer_norm(hidden, weight.shape, weight, bias, self.shape.epsilon)


def sum_embeddings(
    shape: Shape, weights: Mapping[str, Tensor], ids: Tensor, kinds: Tensor | None = None
) -> Tensor:
    """Add up each token's vectors of word, position and type, (b, s, d)."""
    positions = weights["embeddings.position_embeddings.weight"]
    first = shape.first_position
    hidden = weights[_WORDS][ids].to(positions.dtype) + positions[first : first + ids.shape[1]]
    return (
        hidden + weights["embeddings.token_type_embeddings.weight"][0 if kinds is None else kinds]
    )


def split_heads(triple: Tensor, heads: int) -> Tensor:
    """Take query, key and value out of (b, s, 3 d): (3, b, heads, s, d / heads)."""
    b, s, d = triple.shape
    return triple.view(b, s, 3, heads, d // 3 // heads).permute(2, 0, 3, 1, 4)


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None = None
) -> Tensor:
    """Return softmax(scale q k^T) v, (b, s, d), of (b, heads, s, d / heads) each.

    `mask` (b, 1, 1, s) is True at real tokens, or None when no row is padded. `scale` is
    (d / heads) ** -0.5 unless given.
    """
    from torch.nn.functional import scaled_dot_product_attention

    mixed = scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
    return mixed.transpose(1, 2).reshape(len(query), query.shape[2], -1)


def load_bert(folder: Path, device: str, dtype: torch.dtype) -> BertEncoder | None:
    """Load a model folder, or return None when it is not exactly this architecture."""
    pooling = _pooling(folder)
    shape = read_shape(folder, pooling) if pooling else None
    stored = None if shape is None else stored_weights(folder, device)
    return None if shape is None or stored is None else bert(shape, stored, dtype)


def bert(shape: Shape, stored: Mapping[str, Tensor], dtype: torch.dtype) -> BertEncoder | None:
    """Make an encoder of stored weights, or return None when one of them is missing.

    The table of words stays as it is stored: of a mapped file only the rows in use are read.
    """
    names = _names(shape.layers)
    if not names <= stored.keys():
        return None
    weights = {name: stored[name].to(dtype) for name in sorted(names - {_WORDS})}
    weights[_WORDS] = stored[_WORDS]
    for layer in range(shape.layers):
        _join(weights, f"encoder.layer.{layer}.")
    _arrange(weights)
    return BertEncoder(shape, weights)


def stored_weights(folder: Path, device: str) -> dict[str, Tensor] | None:
    """Read a folder's weights, or return None when they are not one file of safetensors.

    Raises ModelError for a file that is damaged.
    """
    file = folder / "model.safetensors"
    return read_tensors(file, folder, device) if file.is_file() else None


def _join(weights: dict[str, Tensor], layer: str) -> None:
    """Replace a layer's query, key and value projections by one, in place."""
    import torch

    for kind in ("weight", "bias"):
        parts = [weights.pop(f"{layer}attention.self.{part}.{kind}") for part in _PROJECTIONS]
        weights[f"{layer}{JOINED}{kind}"] = torch.cat(parts)


def _arrange(weights: dict[str, Tensor]) -> None:
    """Lay the matrices out as a processor's bfloat16 product reads them, in place.

    Otherwise every product does it anew: a tenth of a batch's time. The product that takes them
    also applies the activation, to what it has not rounded yet.
    """
    import torch

    for name, weight in weights.items():
        if name.startswith("encoder.") and weight.dim() == 2 and _is_arrangeable(weight):
            weights[name] = torch.ops.mkldnn._reorder_linear_weight(weight, _ARRANGED_TOKENS)


def _is_arrangeable(weight: Tensor) -> bool:
    import torch

    if weight.device.type != "cpu" or weight.dtype != torch.bfloat16:
        return False
    return has_arranged_products()


def has_arranged_products() -> bool:
    """Tell whether this build of torch has oneDNN's bfloat16 products, and the processor too."""
    import torch

    needed = ("_is_mkldnn_bf16_supported", "_reorder_linear_weight", "_linear_pointwise")
    if not torch.backends.mkldnn.is_available():  # type: ignore[no-untyped-call]
        return False
    if not all(hasattr(torch.ops.mkldnn, name) for name in needed):  # they are torch's own affair
        return False
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def read_shape(folder: Path, pooling: Pooling) -> Shape | None:
    """Read a network's shape, or return None when it is not exactly this architecture."""
    config = read_json(folder / "config.json")
    family = config.get("model_type")
    plain = (
        config.get("hidden_act") == "gelu"
        and config.get("position_embedding_type", "absolute") == "absolute"
        and not config.get("is_decoder", False)
    )
    if family not in ("bert", "xlm-roberta") or not plain:
        return None
    return Shape(
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        epsilon=config["layer_norm_eps"],
        first_position=config["pad_token_id"] + 1 if family == "xlm-roberta" else 0,
        pooling=pooling,
    )


def _pooling(folder: Path) -> Pooling | None:
    """Read which pooling modules.json asks for; None for a pipeline that does anything more."""
    modules = read_json(folder / "modules.json") or []
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if has_projection(folder):
        del kinds[PLACE]  # `load_projection` reads it
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        return None
    if modules[0]["path"]:
        return None
    config = read_json(folder / modules[1]["path"] / "config.json")
    # sentence-transformers 6 writes the mode's name, earlier versions a flag for each mode.
    modes = {
        value if key == "pooling_mode" else key.removeprefix("pooling_mode_")
        for key, value in config.items()
        if key.startswith("pooling_mode") and value
    }
    if modes in ({"mean"}, {"mean_tokens"}):
        return "mean"
    return "cls" if modes in ({"cls"}, {"cls_token"}) else None


def _names(layers: int) -> set[str]:
    """Name every weight that the forward pass reads."""
    tables = {f"embeddings.{kind}_embeddings.weight" for kind in ("word", "position", "token_type")}
    parts = [f"attention.self.{part}" for part in _PROJECTIONS]
    parts += ["attention.output.dense", "attention.output.LayerNorm"]
    parts += ["intermediate.dense", "output.dense", "output.LayerNorm"]
    bases = ["embeddings.LayerNorm"]
    bases += [f"encoder.layer.{layer}.{part}" for layer in range(layers) for part in parts]
    return tables | {f"{base}.{kind}" for base in bases for kind in ("weight", "bias")}


def mean_pool(hidden: Tensor, mask: Tensor | None) -> Tensor:
    """Average the tokens' states, (b, s, d) to (b, d) in float32."""
    if mask is None:
        return hidden.float().mean(1)
    weights = mask[:, :, None].float()  # (b, s, 1)
    return (hidden.float() * weights).sum(1) / weights.sum(1)
