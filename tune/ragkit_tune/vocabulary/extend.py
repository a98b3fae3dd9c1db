"""Extend a model's vocabulary by tokens of one's own texts, and its network by their rows.

A new row is the mean of the rows of the tokens that the new one stands for: a start for training,
not a trained vector. Texts without a new token keep their tokens, and so their vectors.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import UsageError
from ragkit_tune.model_files.card import Card
from ragkit_tune.model_files.folder import find_parent
from ragkit_tune.shrink.draft import draft_of
from ragkit_tune.shrink.rows import add_rows, token_tables
from ragkit_tune.shrink.write import write_draft
from ragkit_tune.vocabulary.density import Density, halves, measure
from ragkit_tune.vocabulary.pairs import Joined, Word, choose_pairs
from ragkit_tune.vocabulary.tokenizer_file import (
    STALE_FORMS,
    TOKENIZER,
    Vocabulary,
    read_vocabulary,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MAX_CHARS: Final = 24  # of a token, as SentencePiece's longest twice over: arbitrary
_SPACES: Final = "\u2581\u0120"  # a word's beginning in SentencePiece's and GPT-2's vocabularies
_CONTINUED: Final = "##"  # WordPiece's mark within a word
_LIFT: Final = 1e-3  # a new piece's score above the sum of its parts', so that it wins
_FILLER_SCORE: Final = 0.0  # as special tokens have in a Unigram vocabulary


@dataclass(frozen=True, slots=True)
class Extension:
    """A vocabulary with new tokens: the JSON, and the old tokens of each new one by number."""

    content: Mapping[str, Any]
    pieces: Mapping[int, tuple[int, ...]]
    joined: Sequence[Joined]


def extend_model(
    model: str, texts: Sequence[str], count: int, out: Path, *, report: bool = False
) -> tuple[Card, Density | None]:
    """Write a model with at most `count` new tokens to `out`, which must not exist.

    With `report` half of the texts choose the tokens and the other half is measured. Raises
    UsageError, ModelError.
    """
    if count < 1:
        raise UsageError(f"--add {count}: name how many tokens to add, 1 or more")
    parent, tensors = find_parent(model)
    vocabulary = read_vocabulary(parent.folder)
    choosing, measured = halves(texts) if report else (texts, [])
    extension = extend(vocabulary, choosing, count)
    if not extension.joined:
        raise UsageError(
            "the texts have no two neighbouring tokens more than once: name more of them"
        )
    draft = draft_of(parent, tensors)
    rows = next(iter(token_tables(draft).values())).shape[0]
    draft = add_rows(draft, max(rows, max(extension.pieces) + 1), extension.pieces)
    gain = sum(joined.gain for joined in extension.joined)
    draft = replace(
        draft,
        files={**draft.files, TOKENIZER: extension.content},
        stale=draft.stale | {*STALE_FORMS},
        notes=(
            f"{len(extension.joined):,} new tokens make the texts {gain:,} tokens shorter",
            "New rows are the mean of the old tokens' rows: train the model before you use it",
            "The vocabulary shows words of the texts",
        ),
    )
    density = None
    if report:
        density = measure(measured, _tokenizer(vocabulary.content), _tokenizer(extension.content))
        draft = replace(draft, notes=(*draft.notes, density.text))
    card = write_draft(draft, out, made_by="tokenizer extend", settings={"add": count})
    return card, density


def extend(vocabulary: Vocabulary, texts: Sequence[str], count: int) -> Extension:
    """Add the tokens that shorten the texts most."""
    joined = choose_pairs(count_words(vocabulary, texts), count, join=_Join(vocabulary))
    content = deepcopy(dict(vocabulary.content))
    first = 1 + max(vocabulary.tokens)
    names = dict(vocabulary.numbers)
    pieces: dict[int, tuple[int, ...]] = {}
    for number, step in enumerate(joined, first):
        names[step.token] = number
        pieces[number] = tuple(
            part for half in step.pair for part in pieces.get(names[half], (names[half],))
        )
    _add_entries(content["model"], vocabulary, joined, names)
    return Extension(content, pieces, joined)


def count_words(vocabulary: Vocabulary, texts: Sequence[str]) -> Counter[Word]:
    """Count the texts' words as sequences of tokens; unknown and special ones part words."""
    tokenizer = _tokenizer(vocabulary.content)
    unknown = {added["id"] for added in vocabulary.added} | {vocabulary.model.get("unk_id")}
    names = {f"<0x{byte:02X}>" for byte in range(256)} | {vocabulary.model.get("unk_token")}
    unknown |= {vocabulary.numbers.get(name, -1) for name in names if name}
    words: Counter[Word] = Counter()
    for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False):
        word: list[str] = []
        place: int | None = None
        for number, word_place in zip(encoding.ids, encoding.word_ids, strict=True):
            token = vocabulary.tokens[number]
            if word_place != place or number in unknown or token.startswith(tuple(_SPACES)):
                words[tuple(word)] += 1
                word = []
            place = word_place
            if number not in unknown:
                word.append(token)
        words[tuple(word)] += 1
    return Counter({word: times for word, times in words.items() if len(word) > 1})


@dataclass(frozen=True, slots=True)
class _Join:
    """Name the token of two neighbours in a kind of vocabulary; None where it is not new."""

    vocabulary: Vocabulary

    def __call__(self, first: str, second: str) -> str | None:
        if self.vocabulary.kind == "WordPiece":
            second = second.removeprefix(_CONTINUED)
        token = first + second
        is_new = token not in self.vocabulary.numbers
        return token if is_new and len(token) <= _MAX_CHARS else None


def _add_entries(
    model: dict[str, Any],
    vocabulary: Vocabulary,
    joined: Sequence[Joined],
    names: Mapping[str, int],
) -> None:
    """Add the new tokens to a tokenizer's model, in place."""
    if vocabulary.kind != "Unigram":
        model["vocab"] |= {step.token: names[step.token] for step in joined}
        if vocabulary.kind == "BPE":
            is_text = any(isinstance(merge, str) for merge in model["merges"][:1])
            pairs = [step.pair for step in joined]
            model["merges"] += [" ".join(pair) for pair in pairs] if is_text else map(list, pairs)
        return
    entries = model["vocab"]
    for number in range(len(entries), 1 + max(vocabulary.tokens)):  # added ones behind the pieces
        entries.append([vocabulary.tokens[number], _FILLER_SCORE])
    scores = dict(entries)
    lowest = min(scores.values())  # which the score of an unknown character is measured from
    for step in joined:
        scores[step.token] = max(lowest, sum(scores[half] for half in step.pair) + _LIFT)
        entries.append([step.token, scores[step.token]])


def _tokenizer(content: Mapping[str, Any]) -> Tokenizer:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
