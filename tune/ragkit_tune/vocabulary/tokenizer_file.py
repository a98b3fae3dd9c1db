"""A tokenizer.json as a vocabulary: its tokens by number, the numbers it names, their renumbering.

BPE, Unigram and WordPiece are known; other kinds are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from ragkit.embed.find import read_json
from ragkit.errors import ModelError

Kind = Literal["BPE", "Unigram", "WordPiece"]
TOKENIZER: Final = "tokenizer.json"
TOKENIZER_CONFIG: Final = "tokenizer_config.json"
# Other forms of the same vocabulary, which a changed tokenizer.json leaves stale.
STALE: Final = (
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "added_tokens.json",
    "tokenizer.small.json",
)
STALE_FORMS: Final = (*STALE, "sentencepiece.bpe.model", "spiece.model", "tokenizer.model")


@dataclass(frozen=True)
class Vocabulary:
    """A tokenizer's JSON and its kind."""

    content: Mapping[str, Any]
    kind: Kind

    @property
    def model(self) -> Mapping[str, Any]:
        """The part that holds the tokens."""
        model: Mapping[str, Any] = self.content["model"]
        return model

    @cached_property
    def tokens(self) -> dict[int, str]:
        """The tokens by number, the added ones among them, in the numbers' order."""
        entries = self.model["vocab"]
        if self.kind == "Unigram":
            numbers = {number: str(piece) for number, (piece, _) in enumerate(entries)}
        else:
            numbers = {int(number): str(token) for token, number in entries.items()}
        numbers |= {added["id"]: added["content"] for added in self.added}
        return dict(sorted(numbers.items()))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each token."""
        return {token: number for number, token in self.tokens.items()}

    @property
    def added(self) -> list[dict[str, Any]]:
        """The tokens that are cut out of a text first: special ones, mostly."""
        return list(self.content.get("added_tokens") or [])

    @cached_property
    def is_byte_level(self) -> bool:
        """Whether a character of a token stands for a byte."""
        parts = (self.content.get(part) or {} for part in ("pre_tokenizer", "decoder"))
        return any(_names_type(part, "ByteLevel") for part in parts)

    def text(self, token: str) -> str:
        """Return the text that a token stands for, without parts of a character's bytes."""
        if not self.is_byte_level or not _BYTES.keys() >= set(token):
            return token
        return bytes(_BYTES[char] for char in token).decode(errors="ignore")

    def renumbered(self, numbers: Mapping[int, int]) -> dict[str, Any]:
        """Return the JSON with the tokens' new numbers; tokens without one are left out."""
        content = deepcopy({key: self.content[key] for key in self.content if key != "model"})
        model = {key: self.model[key] for key in self.model if key not in ("vocab", "merges")}
        entries = self.model["vocab"]
        if self.kind == "Unigram":
            model["vocab"] = [entry for n, entry in enumerate(entries) if n in numbers]
            if model.get("unk_id") is not None:
                model["unk_id"] = numbers[model["unk_id"]]
        else:
            model["vocab"] = {
                token: numbers[number] for token, number in entries.items() if number in numbers
            }
        if self.kind == "BPE":
            names = model["vocab"]
            model["merges"] = [
                merge
                for merge in self.model["merges"]
                if {*(pair := merge_pair(merge)), "".join(pair)} <= names.keys()
            ]
        content["added_tokens"] = [
            added | {"id": numbers[added["id"]]} for added in self.added if added["id"] in numbers
        ]
        _renumber_frame(content.get("post_processor"), numbers)
        if content.get("padding"):
            content["padding"]["pad_id"] = numbers[content["padding"]["pad_id"]]
        return content | {"model": model}


def read_vocabulary(folder: Path) -> Vocabulary:
    """Read a model folder's tokenizer.json. Raises ModelError."""
    content = read_json(folder / TOKENIZER)
    model = content.get("model") if isinstance(content, dict) else None
    if not isinstance(model, dict) or "vocab" not in model:
        raise ModelError(f"model folder {folder} has no {TOKENIZER}: save it with a fast tokenizer")
    kind = _kind(model)
    if kind is None:
        raise ModelError(
            f"{folder / TOKENIZER} is of the kind {model.get('type')!r}: BPE, Unigram and WordPiece"
            " can be changed"
        )
    return Vocabulary(content, kind)


def merge_pair(merge: Any) -> tuple[str, str]:
    """Return the two sides of a merge, which older files write as one string."""
    first, second = merge.split(" ") if isinstance(merge, str) else merge
    return str(first), str(second)


def renumber_settings(settings: dict[str, Any], numbers: Mapping[int, int]) -> dict[str, Any]:
    """Return a configuration whose `*_token_id` name tokens by their new numbers."""
    result = dict(settings)
    for key, value in settings.items():
        if key.endswith(("_token_id", "_tokens")) and isinstance(value, list):
            if all(isinstance(number, int) for number in value):  # others name tokens by texts
                result[key] = [numbers[number] for number in value if number in numbers]
        elif key.endswith("_token_id") and isinstance(value, int):
            result[key] = numbers.get(value)  # None: a number that no token had
        elif isinstance(value, dict) and key.endswith("_config"):
            result[key] = renumber_settings(value, numbers)
    decoder = settings.get("added_tokens_decoder")
    if isinstance(decoder, dict):
        result["added_tokens_decoder"] = {
            str(numbers[int(n)]): added for n, added in decoder.items() if int(n) in numbers
        }
    return result


def named_numbers(content: Any) -> set[int]:
    """Return the numbers that a tokenizer's frame or a configuration names."""
    if isinstance(content, dict):
        named = {
            number
            for key, value in content.items()
            if key in ("id", "ids", "pad_id", "unk_id") or key.endswith("_token_id")
            for number in (value if isinstance(value, list) else [value])
            if isinstance(number, int) and not isinstance(number, bool)
        }
        return named.union(*map(named_numbers, content.values()))
    if isinstance(content, list):
        return set[int]().union(*map(named_numbers, content))
    return set()


def byte_letters() -> dict[int, str]:
    """Return the character that GPT-2's byte-level vocabulary writes for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    missing = (byte for byte in range(256) if byte not in letters)
    return letters | {byte: chr(256 + place) for place, byte in enumerate(missing)}


_BYTES: Final = {letter: byte for byte, letter in byte_letters().items()}


def _kind(model: Mapping[str, Any]) -> Kind | None:
    """Tell a model's kind; old files leave it out."""
    if isinstance(model["vocab"], list):
        return "Unigram" if model.get("type", "Unigram") == "Unigram" else None
    stated = model.get("type")
    if stated == "BPE" or (stated is None and "merges" in model):
        return None if model.get("continuing_subword_prefix") else "BPE"
    if stated == "WordPiece" or (stated is None and "max_input_chars_per_word" in model):
        return "WordPiece"
    return None


def _names_type(part: Any, name: str) -> bool:
    if isinstance(part, dict):
        return part.get("type") == name or any(_names_type(v, name) for v in part.values())
    return isinstance(part, list) and any(_names_type(value, name) for value in part)


def _renumber_frame(frame: Any, numbers: Mapping[int, int]) -> None:
    """Renumber the special tokens that stand around a text, in place."""
    if not isinstance(frame, dict):
        return
    for name in ("sep", "cls"):  # of BERT's and RoBERTa's frames: [token, number]
        if isinstance(frame.get(name), list):
            frame[name][1] = numbers[frame[name][1]]
    for special in (frame.get("special_tokens") or {}).values():
        special["ids"] = [numbers[number] for number in special["ids"]]
    for inner in frame.get("processors") or []:
        _renumber_frame(inner, numbers)
