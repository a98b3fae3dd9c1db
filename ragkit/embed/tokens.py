"""A model's own tokenizer: exact offsets for text of any length, and token ids for the model.

It needs the `tokenizers` package alone, so that text can be measured without loading a network.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, overload

from ragkit.embed.find import read_json
from ragkit.embed.tokenizer import Tokenizers, load_tokenizers
from ragkit.embed.words import PIECE_CHARS, WordTokens
from ragkit.errors import ModelError
from ragkit.types import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from ragkit.embed.words import Table

_PIECES_AT_ONCE = 64
_WORDS_CHARS = 1 << 16  # looked up at once: a few milliseconds, for which other threads wait
_CHARS_PER_TOKEN = 100  # more than this and WordPiece calls a word unknown anyway
# BERT's tokenizer splits beside each of these, whatever stands around it: white space, ASCII's
# punctuation, general punctuation, CJK's, and ideographs.
_MARKS = (
    r" \t\n!-/:-@\[-`{-~\u2010-\u2027\u3001-\u3003\u3008-\u3011"
    r"\u3400-\u4dbf\u4e00-\u9fff！（），：；？"
)
APART = re.compile(f"[{_MARKS}]")
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True, eq=False)
class TokenSpans(Sequence[Span]):
    """Tokens as two arrays of offsets, read as a sequence of spans, and their ids.

    `separable`: a text cut beside an `APART` character falls into the same tokens as the whole
    does. That holds for BERT's WordPiece.
    """

    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    ids: NDArray[np.int32]
    separable: bool = False

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> Span: ...
    @overload
    def __getitem__(self, index: slice) -> TokenSpans: ...
    def __getitem__(self, index: int | slice) -> Span | TokenSpans:
        if isinstance(index, slice):
            return TokenSpans(self.starts[index], self.ends[index], self.ids[index], self.separable)
        return Span(int(self.starts[index]), int(self.ends[index]))

    def ids_of(self, text: str, start: int, end: int) -> NDArray[np.int32] | None:
        """Return the ids of `text[start:end]`, or None where the cuts may make other tokens.

        `text` is the whole that these are the tokens of.
        """
        if not (self.separable and is_apart(text, start) and is_apart(text, end)):
            return None
        first, last = self.starts.searchsorted((start, end)).tolist()
        return self.ids[first:last]


def is_apart(text: str, position: int) -> bool:
    """Tell whether a position lies beside an `APART` character, or at an end of the text."""
    return (
        position in (0, len(text))
        or APART.match(text, position) is not None
        or APART.match(text, position - 1) is not None
    )


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokenise for one model; `limit` counts its tokens with the special ones."""

    tokenizers: Tokenizers
    limit: int
    special: int
    separable: bool
    frame: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())  # before and behind a text
    _words: list[WordTokens] = field(default_factory=list)  # one, as soon as it is needed

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of all scripts."""
        return self.tokenizers.complete

    def spans(self, text: str) -> TokenSpans:
        """Return the tokens of a text of any length, without special tokens.

        A text is tokenised in pieces cut at white space or punctuation; only where thousands of
        characters have none can a token at a piece's edge differ from what the whole would give.
        """
        import numpy as np

        text = storable(text)
        pieces = list(_pieces(text, PIECE_CHARS))
        torn = any(start and not APART.match(piece) for start, piece in pieces)
        separable = self.separable and not torn
        starts, ends, ids = self._by_word(text) if separable else self._by_piece(pieces)
        # Some tokenizers reorder combining marks; the order of starts is promised to callers.
        starts = np.maximum.accumulate(starts)
        return TokenSpans(starts, np.maximum(starts, ends), ids, separable)

    def ids(self, texts: Sequence[str]) -> list[NDArray[np.int32]]:
        """Return each text's ids without special tokens, however many they are."""
        import numpy as np

        if self.separable:
            return [self.spans(text).ids for text in texts]
        texts = [storable(text) for text in texts]
        tokenizer = self.tokenizers.of(texts)
        encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=False)
        return [np.array(encoding.ids, np.int32) for encoding in encodings]

    def cut_ids(self, text: str) -> NDArray[np.int32]:
        """Return a text's ids without special tokens, cut to what the model takes."""
        import numpy as np

        text = storable(text[: self.limit * _CHARS_PER_TOKEN])
        ids = self.tokenizers.of([text]).encode(text, add_special_tokens=False).ids
        return np.array(ids[: self.limit - self.special], np.int32)

    def _by_word(self, text: str) -> Table:
        if not self._words:
            self._words.append(WordTokens(_MARKS, self._by_piece))
        words = self._words[0]
        pieces = _pieces(text, _WORDS_CHARS)
        return _joined((start, words.look_up(piece)) for start, piece in pieces)

    def _by_piece(self, pieces: Sequence[tuple[int, str]]) -> Table:
        return _joined(self._tables(pieces))

    def _tables(self, pieces: Sequence[tuple[int, str]]) -> Iterator[tuple[int, Table]]:
        import numpy as np

        for first in range(0, len(pieces), _PIECES_AT_ONCE):
            group = pieces[first : first + _PIECES_AT_ONCE]
            texts = [piece for _, piece in group]
            tokenizer = self.tokenizers.of(texts)
            encodings = tokenizer.encode_batch(texts, add_special_tokens=False)
            for (start, _), encoding in zip(group, encodings, strict=True):
                flat = chain.from_iterable(encoding.offsets)
                table = np.fromiter(flat, np.int64, 2 * len(encoding)).reshape(-1, 2)
                yield start, (table[:, 0], table[:, 1], np.array(encoding.ids, np.int32))


def load_tokens(folder: Path, limit: int | None = None) -> Tokens:
    """Load the tokenizer of a model folder in a few tenths of a second at most.

    `limit` is taken where the folder does not say how many tokens the model takes. Raises
    ModelError.
    """
    tokenizers = load_tokenizers(folder)
    tokenizer = tokenizers.small
    return Tokens(
        tokenizers,
        limit=_limit(folder, limit),
        special=tokenizer.num_special_tokens_to_add(False),
        separable=_is_separable(tokenizer),
        frame=_frame(tokenizer),
    )


def _is_separable(tokenizer: Tokenizer) -> bool:
    return (
        type(tokenizer.pre_tokenizer).__name__ == "BertPreTokenizer"
        and type(tokenizer.model).__name__ == "WordPiece"
        and all(added.special for added in tokenizer.get_added_tokens_decoder().values())
        # Some are told to leave ideographs among letters.
        and tokenizer.encode("a中文").ids == tokenizer.encode("a 中 文").ids
    )


def _frame(tokenizer: Tokenizer) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Find the special tokens that a single text stands between."""
    framed = tokenizer.encode("a")
    inner = [n for n, special in enumerate(framed.special_tokens_mask) if not special]
    first, last = (inner[0], inner[-1] + 1) if inner else (len(framed), len(framed))
    return tuple(framed.ids[:first]), tuple(framed.ids[last:])


def _limit(folder: Path, default: int | None) -> int:
    """Read how many tokens the model takes: its sentence config, else what its network holds."""
    config = read_json(folder / "config.json")
    stated = read_json(folder / "sentence_bert_config.json").get("max_seq_length")
    if stated:
        return int(stated)
    places = config.get("max_position_embeddings")
    if places and config.get("model_type") in ("roberta", "xlm-roberta"):
        places -= config.get("pad_token_id", 1) + 1  # they count positions from there
    tokenizer = read_json(folder / "tokenizer_config.json").get("model_max_length")
    limits = [int(limit) for limit in (places, tokenizer) if limit] or [default or 0]
    if not limits[0]:
        raise ModelError(
            f"model folder {folder} does not say how many tokens it takes: "
            "add max_seq_length to its sentence_bert_config.json"
        )
    return min(limits)


def storable(text: str) -> str:
    """Replace lone surrogates, which no tokenizer takes, without moving an offset."""
    try:
        text.encode()  # 5 times as quick as looking for them
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text


def _joined(tables: Iterable[tuple[int, Table]]) -> Table:
    """Put the tokens of pieces together, each with its offset in the whole."""
    import numpy as np

    none = np.empty(0, np.int64)
    parts = [(0, (none, none, np.empty(0, np.int32))), *tables]
    starts = np.concatenate([table[0] + start for start, table in parts])
    ends = np.concatenate([table[1] + start for start, table in parts])
    return starts, ends, np.concatenate([table[2] for _, table in parts])


def _pieces(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Cut a text into pieces of at most `size` characters, each with its offset."""
    start = 0
    while start < len(text):
        end = start + size
        if end < len(text):
            end = _piece_end(text, start + size // 2, end)
        yield start, text[start:end]
        start = end


def _piece_end(text: str, low: int, high: int) -> int:
    """Find the last newline, else space, else mark, else take what comes."""
    for place in (text.rfind("\n", low, high), text.rfind(" ", low, high)):
        if place > 0:
            return place
    marks = list(APART.finditer(text, low, high))
    return marks[-1].start() if marks else high
