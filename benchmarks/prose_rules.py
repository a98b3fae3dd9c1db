"""The contract between the set of sentences and the rules of a language that make them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

FALSE: Final = ("number", "name", "negated", "swapped", "merged", "added", "another answer")


@dataclass(frozen=True, slots=True)
class Topic:
    """A passage with true `statements` that people wrote about it, and some of its sentences.

    `wrong` are statements with the answer to another question about the passage.
    """

    name: str
    passage: str
    statements: tuple[str, ...]
    sentences: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rules:
    """How a language's sentences are taken from the data, reworded, shortened, joined, falsified.

    `falsify` takes a kind of FALSE and returns "" where the sentence gives no such one.
    """

    topics: Callable[[Path], Sequence[Topic]]
    reword: Callable[[str, random.Random], str]
    shorten: Callable[[str, random.Random], str]
    join: Callable[[str, str], str]
    falsify: Callable[[str, str, Topic, Sequence[Topic], random.Random], str]
