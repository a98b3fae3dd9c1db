"""Prune a vocabulary to the tokens of languages or texts; what remains tokenises as before.

A text whose tokens are all in the pruned vocabulary falls into the same tokens as before:

- Unigram takes the best way through all pieces, which is the best through fewer as well. The piece
  of the lowest score stays, as the score of an unknown character is measured from it.
- WordPiece takes the longest token at each place, which stays the longest.
- BPE applies merges in order. The merges that lead to a token, and their halves, stay with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from ragkit.embed.find import read_json
from ragkit_tune.vocabulary.languages import is_written_in, scripts_of_texts
from ragkit_tune.vocabulary.tokenizer_file import (
    TOKENIZER,
    TOKENIZER_CONFIG,
    Vocabulary,
    byte_letters,
    merge_pair,
    named_numbers,
    renumber_settings,
)

_MARKS: Final = "##\u2581\u0120"  # what a token begins with besides its text
_SETTINGS: Final = ("config.json", "generation_config.json", TOKENIZER_CONFIG)


@dataclass(frozen=True, slots=True)
class Pruned:
    """The new files of JSON, and the old number of each token in the order of the new ones."""

    files: Mapping[str, Any]
    order: tuple[int, ...]


def tokens_of_scripts(vocabulary: Vocabulary, scripts: frozenset[str]) -> set[int]:
    """Return the tokens written in scripts, and those that are no letters."""
    return {
        number
        for number, token in vocabulary.tokens.items()
        if is_written_in(vocabulary.text(token), scripts)
    }


def tokens_of_texts(vocabulary: Vocabulary, texts: Sequence[str]) -> set[int]:
    """Return the texts' tokens, and the single characters of their scripts for other texts."""
    import json

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(json.dumps(vocabulary.content))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    chosen = set[int]()
    for encoding in tokenizer.encode_batch_fast(list(texts)):
        chosen.update(encoding.ids)
    scripts = scripts_of_texts(texts)
    for number in tokens_of_scripts(vocabulary, scripts):
        if len(vocabulary.text(vocabulary.tokens[number]).lstrip(_MARKS)) <= 1:
            chosen.add(number)
    return chosen


def prune(vocabulary: Vocabulary, chosen: Iterable[int], folder: Path) -> Pruned:
    """Prune a model folder's vocabulary to the chosen tokens and all that they need."""
    settings = {name: read_json(folder / name) for name in _SETTINGS}
    needed = {*chosen} | _always(vocabulary) | named_numbers(list(settings.values()))
    if settings["config.json"].get("model_type") in ("roberta", "xlm-roberta", "camembert"):
        # They count positions from the padding token's number.
        needed |= set(range(settings["config.json"].get("pad_token_id", 1) + 1))
    if vocabulary.kind == "BPE":
        needed |= _halves(vocabulary, needed)
    order = tuple(number for number in vocabulary.tokens if number in needed)
    numbers = {number: place for place, number in enumerate(order)}
    files = {TOKENIZER: vocabulary.renumbered(numbers)}
    for name, values in settings.items():
        if values:
            files[name] = renumber_settings(values, numbers)
    return Pruned(files, order)


def _always(vocabulary: Vocabulary) -> set[int]:
    """Return the tokens that every text may need: special ones, bytes, the unknown."""
    needed = {added["id"] for added in vocabulary.added}
    needed |= named_numbers(vocabulary.content.get("post_processor"))
    needed |= named_numbers({"padding": vocabulary.content.get("padding")})
    needed |= _framed(vocabulary.content.get("post_processor"))
    model = vocabulary.model
    names = {model.get("unk_token")} | {f"<0x{byte:02X}>" for byte in range(256)}
    if vocabulary.is_byte_level:
        names |= set(byte_letters().values())
    needed |= {vocabulary.numbers[name] for name in names if name in vocabulary.numbers}
    if vocabulary.kind == "Unigram":
        entries = model["vocab"]
        needed.add(min(range(len(entries)), key=lambda number: entries[number][1]))
        needed |= named_numbers({"unk_id": model.get("unk_id")})
    return needed


def _framed(frame: Any) -> set[int]:
    """Return the numbers that BERT's and RoBERTa's frames name as [token, number]."""
    if not isinstance(frame, dict):
        return set()
    pairs = {frame[name][1] for name in ("sep", "cls") if isinstance(frame.get(name), list)}
    return pairs.union(*map(_framed, frame.get("processors") or []))


def _halves(vocabulary: Vocabulary, chosen: Iterable[int]) -> set[int]:
    """Return the tokens that arise while BPE builds the chosen ones from characters.

    The merges within a token are those of its characters alone: no merge across its edges came
    before them, or it were no token.
    """
    merges = vocabulary.model["merges"]
    ranks = {merge_pair(merge): rank for rank, merge in enumerate(merges)}
    suffix = vocabulary.model.get("end_of_word_suffix") or ""
    names: set[str] = set()
    for number in chosen:
        names.update(_stages(vocabulary.tokens[number], ranks, suffix))
    return {vocabulary.numbers[name] for name in names if name in vocabulary.numbers}


def _stages(token: str, ranks: Mapping[tuple[str, str], int], suffix: str) -> Iterator[str]:
    """Yield the symbols that a token's characters are merged to, stage by stage."""
    ended = bool(suffix) and token.endswith(suffix) and token != suffix
    symbols = list(token.removesuffix(suffix) if ended else token)
    if ended:
        symbols[-1] += suffix
    yield from symbols
    while len(symbols) > 1:
        pairs = pairwise(symbols)
        rank, place = min((ranks.get(pair, len(ranks)), n) for n, pair in enumerate(pairs))
        if rank == len(ranks):
            return
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]
        yield symbols[place]
