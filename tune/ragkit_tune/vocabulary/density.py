"""How many tokens a text takes: tokens by character, measured on texts that chose no token."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from ragkit_tune.vocabulary.train import Model


@dataclass(frozen=True, slots=True)
class Density:
    """Tokens of texts and their characters, before and after a change of the vocabulary."""

    texts: int
    characters: int
    tokens_before: int | None
    tokens_after: int

    @property
    def text(self) -> str:
        """Say it in one line."""
        rate = f"{self.tokens_after / self.characters:.3f} tokens a character"
        if self.tokens_before is not None:
            change = self.tokens_after / self.tokens_before - 1
            rate = f"{self.tokens_before / self.characters:.3f} to {rate} ({change:+.1%})"
        return f"{rate} on {self.texts} held-out texts of {self.characters:,} characters"


def halves(texts: Sequence[str], seed: int = 0) -> tuple[list[str], list[str]]:
    """Divide texts by chance into a half that chooses tokens and a half that is measured.

    Raises UsageError for a single text.
    """
    if len(texts) < 2:
        raise UsageError("--report holds half of the texts out, and there is only 1: name more")
    shuffled = list(texts)
    random.Random(seed).shuffle(shuffled)  # noqa: S311  repeatable, no secret
    middle = len(shuffled) // 2
    return shuffled[:middle], shuffled[middle:]


def measure(texts: Sequence[str], first: Tokenizer | None, second: Tokenizer) -> Density:
    """Count the tokens of texts by both vocabularies, without special tokens."""
    characters = sum(map(len, texts))
    counts = [
        None if tokenizer is None else count_tokens(tokenizer, texts)
        for tokenizer in (first, second)
    ]
    assert counts[1] is not None
    return Density(len(texts), characters, counts[0], counts[1])


def compare_trained(texts: Sequence[str], size: int, model: Model, against: str | None) -> Density:
    """Train on half of the texts and count the tokens of the other half, by another model's, too.

    Raises UsageError, ModelError.
    """
    from ragkit_tune.vocabulary.train import train_tokenizer

    choosing, measured = halves(texts)
    first = None if against is None else model_tokenizer(against)
    return measure(measured, first, train_tokenizer(choosing, size, model))


def model_tokenizer(model: str) -> Tokenizer:
    """Load a model's complete tokenizer. Raises ModelError."""
    from ragkit.embed.find import find_model
    from ragkit.embed.tokenizer import load_tokenizers

    return load_tokenizers(find_model(model, kind="model").folder).complete


def count_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> int:
    """Count the tokens of texts by a tokenizer that cuts nothing off."""
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    return sum(len(encoding.ids) for encoding in encodings)
