"""Count what a server's embedding model reads: with its tokenizer if it is here, else by bytes.

The server is never asked: it would be for every text, and some servers cut a text in silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ragkit.embed.byte_tokens import SPECIAL, byte_spans
from ragkit.embed.find import find_model, is_packaged
from ragkit.embed.tokens import Tokens, TokenSpans, load_tokens
from ragkit.errors import ModelError
from ragkit.model.tokens import cached_file

_CHARS_PER_TOKEN: Final = 100  # of a query that is cut; as in `ragkit.embed.tokens`


@dataclass(frozen=True, slots=True)
class ServedTokens:
    """Tokens of a model that reads `limit` of them, special ones included.

    Without a tokenizer every byte counts as one (`ragkit.embed.byte_tokens`).
    """

    limit: int
    tokenizer: Tokens | None = None

    @property
    def is_exact(self) -> bool:
        """Tell whether the counts are the model's own."""
        return self.tokenizer is not None

    @property
    def how(self) -> str:
        """Say in words how tokens are counted."""
        return "with the model's tokenizer" if self.is_exact else "every byte as a token"

    @property
    def special(self) -> int:
        """Count the special tokens around a text."""
        return SPECIAL if self.tokenizer is None else self.tokenizer.special

    def room(self, prefix: str) -> int:
        """Count the tokens of a text that fit behind a prefix."""
        return self.limit - self.special - self.counts(prefix, [""])[0]

    def spans(self, text: str) -> TokenSpans:
        """Split a text of any length into tokens."""
        return byte_spans(text) if self.tokenizer is None else self.tokenizer.spans(text)

    def counts(self, prefix: str, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text behind a prefix, without special ones."""
        if self.tokenizer is None:
            return [len(prefix.encode()) + len(byte_spans(text)) for text in texts]
        prefixed = [prefix + text if text else prefix.rstrip() for text in texts]
        return [len(row) for row in self.tokenizer.ids(prefixed)]

    def cut(self, prefix: str, text: str) -> str:
        """Cut a text to what the model reads of it behind a prefix."""
        limit, room = self.limit - self.special, self.room(prefix)
        text = text[: limit * _CHARS_PER_TOKEN]
        # Cut out of its text, a beginning may have more tokens than it had there.
        while text and self.counts(prefix, [text])[0] > limit:
            spans = self.spans(text)
            end = spans[room - 1].end if 0 < room <= len(spans) else 0
            text = text[: min(end, len(text) - 1)]
        return text


def find_tokens(name: str, tokenizer: str | None, limit: int | None) -> ServedTokens | None:
    """Return how to count a model's tokens; None where nobody says how many it reads.

    `limit` is what the server says; a tokenizer's folder may say less. Raises ModelError for a
    tokenizer that was named and is not here.
    """
    folder = tokenizer_folder(name, tokenizer)
    if folder is not None:
        tokens = load_tokens(folder, limit)
        return ServedTokens(min(limit or tokens.limit, tokens.limit), tokens)
    if tokenizer is not None:
        raise ModelError(
            f"tokenizer {tokenizer} is neither a folder with tokenizer.json nor in the local"
            " cache: correct RAGKIT_EMBED_TOKENIZER"
        )
    return None if limit is None else ServedTokens(limit)


def tokenizer_folder(name: str, tokenizer: str | None = None) -> Path | None:
    """Find the folder of a tokenizer, or of that of a server's model, asking no network.

    A model's name counts as a folder only as a whole path: another folder may have it by chance.
    """
    wanted = tokenizer or name
    if is_packaged(wanted):
        try:
            return find_model(wanted).folder
        except ModelError:  # its package is not installed
            return None
    path = Path(wanted).expanduser()
    if path.is_dir() and tokenizer is None and not path.is_absolute():
        return None
    file = cached_file(wanted, "tokenizer.json")
    return None if file is None else file.parent
