"""Words that mean the same, by WordNet's files; without them every word has none.

Only words whose most frequent senses are each other's are exchanged.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path("/usr/share/wordnet")  # apt-get install wordnet-base
_PARTS: Final = ("verb", "noun", "adj")
_LEAST_USES: Final = 8  # rarer words read oddly; by judgement
_ENDINGS: Final = {"": _PARTS, "s": ("verb", "noun"), "ed": ("verb",)}


def is_here() -> bool:
    """Tell whether WordNet is installed."""
    return (FOLDER / "data.noun").is_file()


@lru_cache(maxsize=1 << 14)
def synonym(word: str) -> str:
    """Return another word of a word's most frequent sense, in its form; "" where there is none.

    >>> synonym("xyzzy")
    ''
    """
    for base, ending in ((word, ""), (word.removesuffix("s"), "s"), (base_form(word), "ed")):
        for part in _PARTS:
            offset = _index(part).get(base)
            if offset is None or part not in _ENDINGS[ending] or not word.endswith(ending):
                continue
            if any(_senses(base, other) > _senses(base, part) for other in _PARTS):
                continue  # mostly another part of speech
            for other in _members(part, offset):
                if other == base or _uses(other) < _LEAST_USES:
                    continue
                if _index(part).get(other) == offset:
                    return (other.removesuffix("e") if ending == "ed" else other) + ending
    return ""


@lru_cache
def _counted() -> dict[str, int]:
    """Map each word to how often the texts behind WordNet use it."""
    uses: dict[str, int] = {}
    if is_here():
        for line in (FOLDER / "cntlist.rev").read_text(encoding="utf-8").splitlines():
            key, _, count = line.split()
            word = key.partition("%")[0]
            uses[word] = uses.get(word, 0) + int(count)
    return uses


def _uses(word: str) -> int:
    return _counted().get(word, 0)


def is_verb(word: str) -> bool:
    """Tell whether WordNet has a verb."""
    return word in _index("verb")


def base_form(past: str) -> str:
    """Return the verb of a regular past form; "" where none is known."""
    stem = past.removesuffix("ed")
    options = [f"{stem}e", stem, stem[:-1] if stem[-1:] == stem[-2:-1] else stem]
    if stem.endswith("i"):
        options.insert(0, f"{stem[:-1]}y")
    return next((option for option in options if is_verb(option)), "")


def _senses(word: str, part: str) -> int:
    return _counts(part).get(word, 0)


@lru_cache
def _counts(part: str) -> dict[str, int]:
    """Map each single word to how many senses it has as this part of speech."""
    return {fields[0]: int(fields[2]) for fields in _lines(part)}


@lru_cache
def _index(part: str) -> dict[str, int]:
    """Map each single word to the offset of its most frequent sense."""
    return {fields[0]: int(fields[-int(fields[2])]) for fields in _lines(part)}


def _lines(part: str) -> list[list[str]]:
    if not is_here():
        return []
    lines = (FOLDER / f"index.{part}").read_text(encoding="utf-8").splitlines()
    return [
        fields
        for line in lines
        if not line.startswith(" ") and "_" not in (fields := line.split())[0]
    ]


@lru_cache(maxsize=1 << 14)
def _members(part: str, offset: int) -> tuple[str, ...]:
    with (FOLDER / f"data.{part}").open("rb") as file:
        file.seek(offset)
        fields = file.readline().decode("utf-8").split()
    words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
    return tuple(word for word in words if word.isalpha() and word.islower())
