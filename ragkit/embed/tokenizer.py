"""A model's tokenizer in two sizes: all scripts, and those of Western and East Asian text.

A vocabulary of 250,000 pieces takes 0.6 s and 250 MB to load, half of them for scripts that most
texts do not have. A model folder may hold a second tokenizer without these, whose ids are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from ragkit.embed.find import read_json
from ragkit.embed.scripts import OTHER_SCRIPTS, SMALL
from ragkit.errors import ModelError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_COMPLETE: Final = "tokenizer.json"
_SETTINGS: Final = "sentence_bert_config.json"


class Tokenizers:
    """A tokenizer, and the one of all scripts where that is another, loaded at its first use."""

    def __init__(
        self, small: Tokenizer, load_complete: Callable[[], Tokenizer] | None = None
    ) -> None:
        self.small = small
        self._load_complete = load_complete

    @cached_property
    def complete(self) -> Tokenizer:
        """Load the tokenizer of all scripts. Raises ModelError."""
        return self._load_complete() if self._load_complete else self.small

    def of(self, texts: Iterable[str]) -> Tokenizer:
        """Return the smallest tokenizer that these texts can be tokenised with."""
        is_other = any(OTHER_SCRIPTS.search(text) for text in texts)
        return self.complete if is_other else self.small


# Those that are in use, by their files: to load one takes most of the time that a model takes.
_LOADED: WeakValueDictionary[tuple[object, ...], Tokenizers] = WeakValueDictionary()


def load_tokenizers(folder: Path) -> Tokenizers:
    """Load the smallest tokenizer of a model folder, or share one in use. Raises ModelError."""
    key = tuple(_stamp(folder / name) for name in (SMALL, _COMPLETE, _SETTINGS))
    tokenizers = _LOADED.get(key)
    if tokenizers is None:
        tokenizers = _LOADED[key] = _load_smallest(folder)
    return tokenizers


def _stamp(file: Path) -> tuple[str, int, int, int] | None:
    """Name a file's content by its place, inode, size and time; None where there is none."""
    try:
        stat = file.stat()
    except OSError:
        return None
    return str(file.resolve()), stat.st_ino, stat.st_size, stat.st_mtime_ns


def _load_smallest(folder: Path) -> Tokenizers:
    if not (folder / SMALL).is_file():
        return Tokenizers(_load(folder, _COMPLETE))
    return Tokenizers(_load(folder, SMALL), partial(_load, folder, _COMPLETE))


def _load(folder: Path, name: str) -> Tokenizer:
    from tokenizers import Tokenizer
    from tokenizers.normalizers import Lowercase
    from tokenizers.normalizers import Sequence as NormalizerSequence

    file = folder / name
    if not file.is_file():
        raise ModelError(
            f"model folder {folder} has no {name}: save the model with a fast tokenizer"
        )
    try:
        tokenizer = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises nothing more precise
        raise ModelError(f"{file} cannot be read ({error}): fetch the model anew") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True  # a document that says "[SEP]" means the word
    if read_json(folder / _SETTINGS).get("do_lower_case"):
        normalizers: list[Any] = [Lowercase()]
        if tokenizer.normalizer is not None:
            normalizers.append(tokenizer.normalizer)
        tokenizer.normalizer = NormalizerSequence(normalizers)
    return tokenizer
