"""The BERT encoder with products of 8-bit integers, for a processor that has them (VNNI).

Weights and inputs of a layer's four products are integers of 8 bits, their sums of 32; all else is
float32. Each row of a weight has a scale of its own. Each input has one scale, fixed by the ranges
that were seen when the model's folder was made, not by the texts of a batch: a text alone and the
same text among others have a cosine of 1.0000 in most cases, and 0.999 at least where the order of
the sums moves values across the integers' edges. With attention in bfloat16 that is common. Two
things keep the cosine to float32 at 0.999:

- What a layer norm gives is divided, column by column, by the square root of its range over the
  weights', and the weights are multiplied by it (Xiao et al. 2023, arXiv:2211.10438).
- The widest columns behind GELU, up to fifteen times as wide as the others, are multiplied in
  float32 (as Dettmers et al. 2022, arXiv:2208.07339, do).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from ragkit.embed.bert import (
    JOINED,
    BertEncoder,
    Shape,
    attend,
    load_bert,
    mean_pool,
    split_heads,
    sum_embeddings,
)
from ragkit.embed.find import read_tensors
from ragkit.embed.precision import is_int8_fastest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import torch
    from torch import Tensor

RANGES: Final = "ranges.safetensors"  # in the model's folder: the inputs' ranges and the check
MIN_COSINE: Final = 0.99  # to float32, below which the floating-point encoder is taken
_IDS, _VECTORS = "check.ids", "check.vectors"
_CHECKED: Final = (4, 32)  # rows and tokens of the check
_PACKED_TOKENS: Final = 1024  # of a batch, for which the layout of the weights is the best
_WIDEST: Final = 4  # columns
_LEAST: Final = 1e-5  # of a range: a column may be all zeros
_LEVELS: Final = 255  # of an input
_LARGEST: Final = 127  # of a weight
_ROUND: Final = 0.5  # added before the fraction is cut off

_MIX, _WIDE, _NARROW = "attention.output.dense.", "intermediate.dense.", "output.dense."


@dataclass(frozen=True, slots=True)
class MeasuredEncoder(BertEncoder):
    """Note each product's input: `ranges` has its columns' lowest and highest values, (2, d)."""

    ranges: dict[str, Tensor] = field(default_factory=dict)

    def linear(
        self, name: str, hidden: Tensor, activation: Literal["none", "gelu"] = "none"
    ) -> Tensor:
        """Note the input's range, and multiply."""
        import torch

        rows = hidden.flatten(0, -2)
        low, high = rows.amin(0), rows.amax(0)
        if name in self.ranges:
            low = torch.minimum(low, self.ranges[name][0])
            high = torch.maximum(high, self.ranges[name][1])
        self.ranges[name] = torch.stack([low, high])
        return BertEncoder.linear(self, name, hidden, activation)


@dataclass(frozen=True, slots=True)
class Scale:
    """What an input's integers stand for: (integer - zero) * step."""

    step: float
    zero: int

    @classmethod
    def of(cls, ranges: Tensor) -> Scale:
        """Lay the levels over the lowest to the highest value; 0 is among them."""
        low, high = min(float(ranges[0].min()), 0.0), max(float(ranges[1].max()), _LEAST)
        step = (high - low) / _LEVELS
        return cls(step, round(-low / step))


@dataclass(frozen=True, slots=True)
class Product:
    """A matrix of integers (o, d), laid out as oneDNN reads it, with its rows' scales and bias."""

    weight: Tensor
    steps: Tensor
    bias: Tensor
    scale: Scale

    @classmethod
    def of(cls, weight: Tensor, bias: Tensor, scale: Scale) -> Product:
        """Make integers of a matrix."""
        import torch

        steps = weight.abs().amax(1).clamp_min(_LEAST) / _LARGEST
        integers = (weight / steps[:, None]).round_().to(torch.int8)
        pack = torch.ops.onednn.qlinear_prepack
        return cls(pack(integers, [_PACKED_TOKENS, weight.shape[1]]), steps, bias, scale)

    def __call__(self, integers: Tensor, dtype: torch.dtype, gelu: Scale | None = None) -> Tensor:
        """Multiply integers (b, s, d) and add the bias: (b, s, o) of a dtype.

        With `gelu` that is applied, and the result is integers of that scale.
        """
        import torch

        result = Scale(1.0, 0) if gelu is None else gelu
        product: Tensor = torch.ops.onednn.qlinear_pointwise(
            integers,
            self.scale.step,
            self.scale.zero,
            self.weight,
            self.steps,
            torch.zeros_like(self.steps, dtype=torch.int64),
            self.bias,
            result.step,
            result.zero,
            dtype,
            "none" if gelu is None else "gelu",
            [],
            "none",
        )
        return product


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer norm's weight and bias; those that give the next product's input at once, in steps.

    The last norm has no product behind it.
    """

    plain: tuple[Tensor, Tensor]
    stepped: tuple[Tensor, Tensor] | None
    epsilon: float

    def __call__(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Return the normalised states, and the integers of the next product."""
        from torch.nn.functional import layer_norm

        weight, bias = self.plain
        normal = layer_norm(hidden, weight.shape, weight, bias, self.epsilon)
        if self.stepped is None:
            return normal, normal
        return normal, _integers(layer_norm(hidden, weight.shape, *self.stepped, self.epsilon))


@dataclass(frozen=True, slots=True)
class Widest:
    """The columns behind GELU that stay in float32: rows of one matrix, columns of the other."""

    weight: Tensor  # (k, d)
    bias: Tensor  # (k,)
    back: Tensor  # (k, d)

    def add_to(self, states: Tensor) -> Tensor:
        """Return states (b, s, d) plus what these columns make of them."""
        import torch
        from torch.nn.functional import gelu, linear

        rows = states.flatten(0, -2)
        columns = gelu(linear(rows, self.weight, self.bias))
        return torch.addmm(rows, columns, self.back).view(states.shape)


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer's products, norms and widest columns."""

    joined: Product
    mix: Product
    mix_norm: Norm
    wide: Product
    narrow: Product
    widest: Widest
    norm: Norm


@dataclass(frozen=True, slots=True)
class Int8Encoder:
    """Encode batches of token ids as `BertEncoder` does, (b, s) into (b, d) float32."""

    shape: Shape
    tables: Mapping[str, Tensor]  # of `sum_embeddings`
    norm: Norm
    layers: Sequence[Layer]

    def __call__(self, ids: Tensor, mask: Tensor | None) -> Tensor:
        attention = None if mask is None else mask[:, None, None, :]
        states, integers = self.norm(sum_embeddings(self.shape, self.tables, ids))
        for layer in self.layers:
            states, integers = self._layer(layer, states, integers, attention)
        return states[:, 0] if self.shape.pooling == "cls" else mean_pool(states, mask)

    def _layer(
        self, layer: Layer, states: Tensor, integers: Tensor, attention: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        import torch

        triple = layer.joined(integers, torch.float32)  # see `_Quantizer.joined`
        query, key, value = split_heads(triple, self.shape.heads)
        integers = _integers(attend(query, key, value, attention, scale=1))
        states, integers = layer.mix_norm(layer.mix(integers, torch.float32).add_(states))
        wide = layer.wide(integers, torch.uint8, gelu=layer.narrow.scale)
        states = layer.widest.add_to(states)
        return layer.norm(layer.narrow(wide, torch.float32).add_(states))


def load_int8(folder: Path) -> Int8Encoder | None:
    """Load a folder that has ranges; None where it has none, or the processor no such products.

    None also where this machine's vectors are not those that float32 gave when the folder was made.
    Raises ModelError for a damaged file.
    """
    import torch

    if not (folder / RANGES).is_file() or not is_int8_fastest():
        return None
    measured = read_tensors(folder / RANGES, folder, "cpu")
    plain = load_bert(folder, "cpu", torch.float32)
    if plain is None:
        return None
    encoder = quantize(plain, measured)
    with torch.inference_mode():
        vectors = encoder(measured[_IDS], None)
    cosines = torch.nn.functional.cosine_similarity(vectors, measured[_VECTORS])
    return encoder if float(cosines.min()) >= MIN_COSINE else None


def save_ranges(encoder: MeasuredEncoder, ids: Tensor, folder: Path) -> None:
    """Write what `load_int8` needs, after the encoder has seen texts enough.

    `ids` are those of any texts, some 128 of them at least.
    """
    import torch
    from safetensors.torch import save_file

    rows, tokens = _CHECKED
    checked = ids[: rows * tokens].view(_CHECKED)
    measured = dict(encoder.ranges)
    with torch.inference_mode():
        vectors = encoder(checked, None)
    save_file({**measured, _IDS: checked, _VECTORS: vectors}, folder / RANGES)


@dataclass(frozen=True, slots=True)
class _Quantizer:
    """Make the parts of an `Int8Encoder` of a float32 one and its inputs' ranges."""

    plain: BertEncoder
    ranges: Mapping[str, Tensor]

    def encoder(self) -> Int8Encoder:
        weights, shape = self.plain.weights, self.plain.shape
        names = [f"encoder.layer.{number}." for number in range(shape.layers)]
        following = [f"{name}{JOINED}" for name in names[1:]]
        layers = [
            self.layer(name, activation)
            for name, activation in zip(names, [*following, None], strict=True)
        ]
        norm = self.norm("embeddings.LayerNorm.", f"{names[0]}{JOINED}")
        tables = {name: weights[name] for name in weights if name.startswith("embeddings.")}
        return Int8Encoder(shape, tables, norm, layers)

    def layer(self, name: str, following: str | None) -> Layer:
        """Make a layer, before the product named `following`."""
        mix, narrow, widest = self.mix(name), *self.narrow(name)
        return Layer(
            joined=self.joined(name, mix.scale),
            mix=mix,
            mix_norm=self.norm(f"{name}attention.output.LayerNorm.", f"{name}{_WIDE}"),
            wide=self.normed(f"{name}{_WIDE}"),
            narrow=narrow,
            widest=widest,
            norm=self.norm(f"{name}output.LayerNorm.", following),
        )

    def pair(self, name: str) -> tuple[Tensor, Tensor]:
        return self.plain.weights[name + "weight"], self.plain.weights[name + "bias"]

    def divisors(self, name: str) -> Tensor:
        """Return what each column of an input behind a norm is divided by, (d,)."""
        reach = self.ranges[name].abs().amax(0).clamp_min(_LEAST)
        return (reach / self.pair(name)[0].abs().amax(0).clamp_min(_LEAST)).sqrt()

    def scale(self, name: str) -> Scale:
        """Return the scale of an input behind a norm, its columns divided."""
        return Scale.of(self.ranges[name] / self.divisors(name))

    def norm(self, name: str, following: str | None) -> Norm:
        weight, bias = self.pair(name)
        stepped = None
        if following is not None:
            scale = self.scale(following)
            steps = self.divisors(following) * scale.step
            stepped = weight / steps, bias / steps + scale.zero + _ROUND
        return Norm((weight, bias), stepped, self.plain.shape.epsilon)

    def normed(self, name: str) -> Product:
        """Make the product behind a norm."""
        weight, bias = self.pair(name)
        return Product.of(weight * self.divisors(name), bias, self.scale(name))

    def mix(self, name: str) -> Product:
        return Product.of(*self.pair(name + _MIX), Scale.of(self.ranges[name + _MIX]))

    def joined(self, name: str, mix: Scale) -> Product:
        """Make the product of query, key and value.

        The query's scale is in its weights already. Values are in steps of `mix`, which takes their
        mixture, and have its zero and a half added: as it is a weighted mean, it has them too.
        """
        import torch

        weight, bias = self.pair(name + JOINED)
        heads, d = self.plain.shape.heads, weight.shape[1]
        factors = torch.ones(3, d)
        factors[0], factors[2] = (d // heads) ** -0.5, 1 / mix.step
        rows = factors.flatten()
        added = torch.zeros(3, d)
        added[2] = mix.zero + _ROUND
        columns = self.divisors(name + JOINED)
        return Product.of(
            weight * rows[:, None] * columns,
            bias * rows + added.flatten(),
            self.scale(name + JOINED),
        )

    def narrow(self, name: str) -> tuple[Product, Widest]:
        """Make the product behind GELU, and take its widest columns out."""
        weight, bias = self.pair(name + _NARROW)
        ranges = self.ranges[name + _NARROW].clone()
        widest = ranges[1].topk(_WIDEST).indices
        ranges[:, widest] = 0
        remainder = weight.clone()
        remainder[:, widest] = 0
        wide_weight, wide_bias = self.pair(name + _WIDE)
        out = Widest(wide_weight[widest], wide_bias[widest], weight[:, widest].T.contiguous())
        return Product.of(remainder, bias, Scale.of(ranges)), out


def quantize(plain: BertEncoder, ranges: Mapping[str, Tensor]) -> Int8Encoder:
    """Make integers of a float32 encoder's products."""
    return _Quantizer(plain, ranges).encoder()


def _integers(stepped: Tensor) -> Tensor:
    """Cut values in steps, a half added, to integers of 8 bits."""
    import torch

    return stepped.clamp_(0, _LEVELS).to(torch.uint8)
