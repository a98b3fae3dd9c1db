"""A model's own tokenizer: exact offsets for text of any length, and token ids for the model.

It needs the `tokenizers` package alone, so that text can be measured without loading a network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, overload

from ragkit.embed.find import read_json
from ragkit.errors import ModelError
from ragkit.types import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

# Tokenizers slow down on long strings: 1.2 MB/s on one of 1.4 MB, 5 to 6 MB/s in pieces of this.
_PIECE_CHARS = 8000
_PIECES_AT_ONCE = 64
_CHARS_PER_TOKEN = 100  # more than this and WordPiece calls a word unknown anyway
# BERT's tokenizer splits beside each of these, whatever stands around it.
APART = re.compile(r"[ \t\n!-/:-@\[-`{-~。，！？；：、…\u3400-\u4dbf\u4e00-\u9fff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class TokenSpans(Sequence[Span]):
    """Tokens as two arrays of offsets, read as a sequence of spans.

    `separable`: a text cut beside an `APART` character falls into the same tokens as the whole
    does. That holds for BERT's WordPiece.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    separable: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> TokenSpans: ...
    def __getitem__(self, index: int | slice) -> Span | TokenSpans:
        if isinstance(index, slice):
            return TokenSpans(self.starts[index], self.ends[index], self.separable)
        return Span(int(self.starts[index]), int(self.ends[index]))


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokenise for one model; `limit` counts its tokens with the special ones."""

    tokenizer: Tokenizer
    limit: int
    special: int
    separable: bool

    def spans(self, text: str) -> TokenSpans:
        """Return the tokens of a text of any length, without special tokens.

        A text is tokenised in pieces cut at white space or punctuation; only where thousands of
        characters have none can a token at a piece's edge differ from what the whole would give.
        """
        import numpy as np

        parts: list[NDArray[np.int64]] = []
        pieces = list(_pieces(_storable(text)))
        torn = any(start and not APART.match(piece) for start, piece in pieces)
        for first in range(0, len(pieces), _PIECES_AT_ONCE):
            group = pieces[first : first + _PIECES_AT_ONCE]
            encodings = self.tokenizer.encode_batch([p for _, p in group], add_special_tokens=False)
            for (start, _), encoding in zip(group, encodings, strict=True):
                flat = chain.from_iterable(encoding.offsets)
                parts.append(np.fromiter(flat, np.int64, 2 * len(encoding)).reshape(-1, 2) + start)
        table = np.concatenate(parts) if parts else np.empty((0, 2), np.int64)
        # Some tokenizers reorder combining marks; the order of starts is promised to callers.
        starts = np.maximum.accumulate(table[:, 0])
        ends = np.maximum(starts, table[:, 1])
        return TokenSpans(starts, ends, self.separable and not torn)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return each text's ids with special tokens, however many they are."""
        encodings = self.tokenizer.encode_batch_fast([_storable(text) for text in texts])
        return [encoding.ids for encoding in encodings]

    def cut_ids(self, text: str) -> list[int]:
        """Return a text's ids with special tokens, cut to the model's limit."""
        text = _storable(text[: self.limit * _CHARS_PER_TOKEN])
        encoding = self.tokenizer.encode(text, add_special_tokens=False)
        encoding.truncate(self.limit - self.special)
        ids: list[int] = self.tokenizer.post_process(encoding).ids
        return ids


def load_tokens(folder: Path) -> Tokens:
    """Load the tokenizer of a model folder in a few hundredths of a second."""
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as NormalizerSequence

    file = folder / "tokenizer.json"
    if not file.is_file():
        raise ModelError(
            f"model folder {folder} has no tokenizer.json: save the model with a fast tokenizer"
        )
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a document that says "[SEP]" means the word
    if read_json(folder / "sentence_bert_config.json").get("do_lower_case"):
        before = (
            [Lowercase()] if tokenizer.normalizer is None else [Lowercase(), tokenizer.normalizer]
        )
        tokenizer.normalizer = NormalizerSequence(before)
    return Tokens(
        tokenizer,
        limit=_limit(folder),
        special=tokenizer.num_special_tokens_to_add(False),
        separable=_is_separable(tokenizer),
    )


def _is_separable(tokenizer: Tokenizer) -> bool:
    return (
        type(tokenizer.pre_tokenizer).__name__ == "BertPreTokenizer"
        and type(tokenizer.model).__name__ == "WordPiece"
        and all(added.special for added in tokenizer.get_added_tokens_decoder().values())
    )


def _limit(folder: Path) -> int:
    """Read how many tokens the model takes: its sentence config, else what its network holds."""
    config = read_json(folder / "config.json")
    stated = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if stated:
        return int(stated)
    places = config.get("max_position_embeddings")
    if places and config.get("model_type") in ("roberta", "xlm-roberta"):
        places -= config.get("pad_token_id", 1) + 1  # they count positions from there
    tokenizer = read_json(folder / "tokenizer_config.json").get("model_max_length")
    known = [int(limit) for limit in (places, tokenizer) if limit]
    if not known:
        raise ModelError(
            f"model folder {folder} does not say how many tokens it takes: "
            "add max_seq_length to its sentence_bert_config.json"
        )
    return min(known)


def _storable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes, without moving an offset."""
    return _SURROGATE.sub("\ufffd", text)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """Cut a text into pieces of bounded length, each with its offset."""
    start = 0
    while start < len(text):
        end = start + _PIECE_CHARS
        if end < len(text):
            end = _piece_end(text, start + _PIECE_CHARS // 2, end)
        yield start, text[start:end]
        start = end


def _piece_end(text: str, low: int, high: int) -> int:
    """Find the last newline, else space, else mark, else take what comes."""
    for place in (text.rfind("\n", low, high), text.rfind(" ", low, high)):
        if place > 0:
            return place
    marks = list(APART.finditer(text, low, high))
    return marks[-1].start() if marks else high
