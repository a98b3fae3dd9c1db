"""The encoder of `ragkit.embed.int8` as a program that runs without Python, for a server's queries.

Each of the three hundred operations on a query lets Python's lock go and waits for it again, which
is what costs most beside other threads that work. A TorchScript program lets it go once. Its
operations are the same, in the same order, so its vectors are equal to the last bit. It takes half
a second to make.
"""

import warnings
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.nn.functional import gelu, linear, scaled_dot_product_attention

from ragkit.embed.bert import Shape
from ragkit.embed.int8 import Int8Encoder, Layer, Norm, Product, Scale
from ragkit.embed.projection import ProjectedEncoder

if TYPE_CHECKING:
    from ragkit.embed.local import Encoder


class _Product(nn.Module):
    """A product of integers; see `ragkit.embed.int8.Product`."""

    weight: Tensor
    steps: Tensor
    zeros: Tensor
    bias: Tensor

    def __init__(self, product: Product, gelu: Scale | None = None) -> None:
        super().__init__()
        self.register_buffer("weight", product.weight)
        self.register_buffer("steps", product.steps)
        self.register_buffer("zeros", torch.zeros_like(product.steps, dtype=torch.int64))
        self.register_buffer("bias", product.bias)
        self.step, self.zero = product.scale.step, product.scale.zero
        self.result_step, self.result_zero = (1.0, 0) if gelu is None else (gelu.step, gelu.zero)
        self.dtype = torch.float32 if gelu is None else torch.uint8
        self.activation = "none" if gelu is None else "gelu"

    def forward(self, integers: Tensor) -> Tensor:
        arguments: list[int | float | complex | None] = []
        return torch.ops.onednn.qlinear_pointwise(  # type: ignore[no-any-return]
            integers,
            self.step,
            self.zero,
            self.weight,
            self.steps,
            self.zeros,
            self.bias,
            self.result_step,
            self.result_zero,
            self.dtype,
            self.activation,
            arguments,
            "none",
        )


class _Norm(nn.Module):
    """A layer norm, and the integers of the next product; see `ragkit.embed.int8.Norm`."""

    weight: Tensor
    bias: Tensor
    stepped_weight: Tensor
    stepped_bias: Tensor

    def __init__(self, norm: Norm) -> None:
        super().__init__()
        self.width, self.epsilon = norm.plain[0].shape[0], norm.epsilon
        self.is_last = norm.stepped is None
        weight, bias = norm.stepped or norm.plain
        self.register_buffer("weight", norm.plain[0])
        self.register_buffer("bias", norm.plain[1])
        self.register_buffer("stepped_weight", weight)
        self.register_buffer("stepped_bias", bias)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        normal = torch.layer_norm(hidden, [self.width], self.weight, self.bias, self.epsilon)
        if self.is_last:
            return normal, normal
        stepped = torch.layer_norm(
            hidden, [self.width], self.stepped_weight, self.stepped_bias, self.epsilon
        )
        return normal, stepped.clamp_(0, 255).to(torch.uint8)


class _Layer(nn.Module):
    """One layer; see `ragkit.embed.int8.Int8Encoder`."""

    widest_weight: Tensor
    widest_bias: Tensor
    widest_back: Tensor

    def __init__(self, layer: Layer, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.joined, self.mix = _Product(layer.joined), _Product(layer.mix)
        self.mix_norm, self.norm = _Norm(layer.mix_norm), _Norm(layer.norm)
        self.wide = _Product(layer.wide, gelu=layer.narrow.scale)
        self.narrow = _Product(layer.narrow)
        self.register_buffer("widest_weight", layer.widest.weight)
        self.register_buffer("widest_bias", layer.widest.bias)
        self.register_buffer("widest_back", layer.widest.back)

    def forward(self, states: Tensor, integers: Tensor) -> tuple[Tensor, Tensor]:
        triple = self.joined(integers)
        b, s, d = triple.size(0), triple.size(1), triple.size(2)
        heads = triple.view(b, s, 3, self.heads, d // 3 // self.heads).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(heads[0], heads[1], heads[2], scale=1.0)
        integers = mixed.transpose(1, 2).reshape(b, s, -1).clamp_(0, 255).to(torch.uint8)
        states, integers = self.mix_norm(self.mix(integers).add_(states))
        wide = self.wide(integers)
        rows = states.flatten(0, -2)
        columns = gelu(linear(rows, self.widest_weight, self.widest_bias))
        states = torch.addmm(rows, columns, self.widest_back).view(states.shape)
        normal: tuple[Tensor, Tensor] = self.norm(self.narrow(wide).add_(states))
        return normal


class _Program(nn.Module):
    """The whole encoder of rows without padding, (b, s) into (b, d)."""

    words: Tensor
    positions: Tensor
    kinds: Tensor
    matrix: Tensor

    def __init__(self, encoder: Int8Encoder, matrix: Tensor | None) -> None:
        super().__init__()
        shape: Shape = encoder.shape
        for name, table in (("words", "word"), ("positions", "position"), ("kinds", "token_type")):
            self.register_buffer(name, encoder.tables[f"embeddings.{table}_embeddings.weight"])
        self.first, self.pooling = shape.first_position, shape.pooling
        self.norm = _Norm(encoder.norm)
        self.layers = nn.ModuleList([_Layer(layer, shape.heads) for layer in encoder.layers])
        self.is_projected = matrix is not None
        self.register_buffer("matrix", torch.empty(0) if matrix is None else matrix)

    def forward(self, ids: Tensor) -> Tensor:
        words = self.words[ids].to(self.positions.dtype)
        hidden = words + self.positions[self.first : self.first + ids.size(1)] + self.kinds[0]
        states, integers = self.norm(hidden)
        for layer in self.layers:
            states, integers = layer(states, integers)
        pooled: Tensor = states[:, 0] if self.pooling == "cls" else states.mean(1)
        return pooled @ self.matrix.t() if self.is_projected else pooled


def write_program(encoder: "Encoder") -> "Encoder | None":
    """Make an encoder that runs rows without padding as a program, and others as it did.

    None for one that is not of 8-bit integers.
    """
    matrix = encoder.matrix if isinstance(encoder, ProjectedEncoder) else None
    inner = encoder.encoder if isinstance(encoder, ProjectedEncoder) else encoder
    if not isinstance(inner, Int8Encoder):
        return None
    with warnings.catch_warnings():
        # What PyTorch recommends in its place needs a C++ compiler on the user's machine.
        warnings.simplefilter("ignore", DeprecationWarning)
        program = torch.jit.script(_Program(inner, matrix).eval())

    def encode(ids: Tensor, mask: Tensor | None) -> Tensor:
        if mask is not None:
            return encoder(ids, mask)
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]
            vectors: Tensor = program(ids)
        return vectors

    return encode
