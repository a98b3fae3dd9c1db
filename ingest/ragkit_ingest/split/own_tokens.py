"""A model's own tokens, made without its network, and where a text falls into the same when cut.

Such a text is tokenised once: what is embedded of its chunks is cut out of its tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from ragkit.embed.tokens import Tokens, TokenSpans, is_apart, storable
from ragkit.embed.words import WordTokens
from ragkit.text.passage import words_of
from ragkit.types import Chunk, Span

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ragkit.embed.contract import Row
    from ragkit.embed.words import Table

    IsApart = Callable[[str, int], bool]  # of a text and a position in it

_WHITE: Final = " \t\n"
_MOST_CHARS: Final = 12  # of a word with its space, on the average, where looking it up pays
# Without white space for so long a text is tokenised in pieces cut elsewhere: see `Tokens.spans`.
_TORN: Final = re.compile("(?<![^ \n])[^ \n]{4000}")  # looked at once from where a word begins
# Whose tokens stay the same beside one another: a mark that combines, a character that is several.
_WORDS: Final = (
    "Wings,",
    "\u0308a",
    "e\u0301",
    "机翼。",
    "\ufb01n",
    "\uff21\u3000b",
    "\u200b",
    "3.14%",
)
_SLICE_CHARS: Final = 1 << 16  # looked up at once


class SpacedSpans(TokenSpans):
    """Tokens of a text that falls into the same ones when it is cut beside white space."""

    __slots__ = ()


def apart_in(spans: Sequence[Span]) -> IsApart | None:
    """Return what tells where a text can be cut so that its tokens stay; None: nobody knows."""
    if isinstance(spans, SpacedSpans):
        return _is_spaced
    return is_apart if isinstance(spans, TokenSpans) and spans.separable else None


def ids_of_chunks(text: str, chunks: Sequence[Chunk], spans: TokenSpans) -> list[Row | None]:
    """Cut the ids of each chunk, those of its lead first, out of the ids of its text.

    None for a chunk whose cuts may make other tokens.
    """
    is_cut = apart_in(spans)
    if is_cut is None:
        return [None] * len(chunks)
    bounds = [bound for chunk in chunks for bound in (chunk.start, chunk.end)]
    places = iter(spans.starts.searchsorted(bounds).tolist())
    rows: list[Row | None] = []
    for chunk in chunks:
        ids = spans.ids[next(places) : next(places)]
        if not (is_cut(text, chunk.start) and is_cut(text, chunk.end)):
            rows.append(None)
        elif chunk.lead is None:
            rows.append(ids)
        else:
            rows.append(_after_lead(text, chunk.lead, ids, spans, is_cut))
    return rows


def _after_lead(text: str, lead: Span, ids: Row, spans: TokenSpans, is_cut: IsApart) -> Row | None:
    """Put the ids of a chunk's lead before its own."""
    import numpy as np

    if not (is_cut(text, lead.start) and is_cut(text, lead.end)):
        return None
    first, last = spans.starts.searchsorted((lead.start, lead.end)).tolist()
    return np.concatenate((spans.ids[first:last], ids))


class OwnTokens:
    """The tokens of one model, words of which are remembered where that changes none of them."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens
        self._words: WordTokens | None = None
        if not tokens.separable and _splits_at_white_space(tokens.tokenizers.small):
            self._words = WordTokens(_WHITE, self._of_words)

    def spans(self, text: str) -> TokenSpans:
        """Split a text of any length into the model's tokens, as the embedder does."""
        words = self._words
        if words is None or _TORN.search(text):
            return self._tokens.spans(text)
        if len(text) < _MOST_CHARS * text.count(" "):
            return self._by_word(words, storable(text))
        spans = self._tokens.spans(text)
        return SpacedSpans(spans.starts, spans.ends, spans.ids)

    def rows(self, text: str, chunks: Sequence[Chunk], spans: TokenSpans, prefix: str) -> list[Row]:
        """Return the ids of what is embedded of each chunk: the prefix, its lead and its text."""
        import numpy as np

        is_cut = apart_in(spans)
        ids: list[Row | None] = [None] * len(chunks)
        if is_cut is not None and is_cut(f"{prefix}a", len(prefix)):
            ids = ids_of_chunks(text, chunks, spans)
        before = self._tokens.ids([prefix])[0] if prefix else spans.ids[:0]
        again = [
            prefix + words_of(text, chunk)
            for chunk, row in zip(chunks, ids, strict=True)
            if row is None
        ]
        tokenised = iter(self._tokens.ids(again) if again else ())
        return [next(tokenised) if row is None else np.concatenate((before, row)) for row in ids]

    def _by_word(self, words: WordTokens, text: str) -> SpacedSpans:
        """Look up the tokens of a text's words, slice by slice, cut at white space."""
        import numpy as np

        tables: list[Table] = []
        start = 0
        while start < len(text):
            end = start + _SLICE_CHARS
            if end < len(text):
                end = max(text.rfind(" ", start, end), text.rfind("\n", start, end))
            starts, ends, ids = words.look_up(text[start:end])
            tables.append((starts + start, ends + start, ids))
            start = end
        starts, ends, ids = map(np.concatenate, zip(*tables, strict=True))
        starts = np.maximum.accumulate(starts)  # as `Tokens.spans` does
        return SpacedSpans(starts, np.maximum(starts, ends), ids)

    def _of_words(self, pieces: Sequence[tuple[int, str]]) -> Table:
        """Tokenise pieces of a text, each with its offset in it."""
        import numpy as np

        tokenised = [self._tokens.spans(piece) for _, piece in pieces]
        offsets = [start for start, _ in pieces]
        return (
            np.concatenate(
                [spans.starts + at for spans, at in zip(tokenised, offsets, strict=True)]
            ),
            np.concatenate([spans.ends + at for spans, at in zip(tokenised, offsets, strict=True)]),
            np.concatenate([spans.ids for spans in tokenised]),
        )


def _is_spaced(text: str, position: int) -> bool:
    """Tell whether a position lies beside white space, or at an end of the text."""
    return position in (0, len(text)) or text[position] in _WHITE or text[position - 1] in _WHITE


def _splits_at_white_space(tokenizer: Tokenizer) -> bool:
    """Tell whether a tokenizer takes each word between white space by itself."""
    pre = tokenizer.pre_tokenizer
    first = pre[0] if type(pre).__name__ == "Sequence" else pre
    if type(first).__name__ != "WhitespaceSplit":
        return False
    if not all(added.special for added in tokenizer.get_added_tokens_decoder().values()):
        return False
    alone = [tokenizer.encode(word, add_special_tokens=False).ids for word in _WORDS]
    together = tokenizer.encode("\n".join(_WORDS), add_special_tokens=False).ids
    return list(chain.from_iterable(alone)) == together
