"""A reader of WordNet's database files: base forms, and which words share a synset.

It reads only index.POS and POS.exc: two lemmas are synonyms if their lines of the index name the
same place in data.POS, so that data itself need not be read.
Formats: wndb(5WN), morphy(7WN), https://wordnet.princeton.edu/documentation.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from ragkit.errors import NotFoundError, UsageError

FOLDERS = (Path("/usr/share/wordnet"), Path("/usr/share/wordnet/dict"))  # Debian's wordnet-base
_REMEDY = "install Debian's package wordnet-base, or name a folder that has index.noun"
_PARTS = ("noun", "verb", "adj", "adv")
_CACHED_WORDS = 1 << 16

# Endings and their replacement in the base form: morphy(7WN), "Rules of Detachment".
_DETACHED = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


class WordNet:
    """WordNet's English words in a folder; look-ups are cached."""

    def __init__(self, folder: Path) -> None:
        """Read the files, 0.03 s. Raises NotFoundError and UsageError naming the file."""
        self.folder = folder
        self._index = {part: _bytes(folder / f"index.{part}") for part in _PARTS}
        self._exceptions = {part: _exceptions(folder / f"{part}.exc") for part in _PARTS}
        self._irregular: dict[str, str] = {}
        for part in _PARTS:
            for word, bases in self._exceptions[part].items():
                self._irregular.setdefault(word, bases[0])
        self.synsets = lru_cache(maxsize=_CACHED_WORDS)(self._synsets)

    @property
    def revision(self) -> str:
        """Return 8 hex digits of the sha256 of the indexes, which differ between versions."""
        digest = hashlib.sha256()
        for part in _PARTS:
            digest.update(self._index[part])
        return digest.hexdigest()[:8]

    def irregular(self, word: str) -> str:
        """Return the base form of the exception lists, "" without one.

        ROUGE-1.5.5 looks a word up before it stems it.
        """
        return self._irregular.get(word, "")

    def are_synonyms(self, first: str, second: str) -> bool:
        """Return whether any senses of two words, in any form, share a synset."""
        return not self.synsets(first).isdisjoint(self.synsets(second))

    def _synsets(self, word: str) -> frozenset[tuple[str, bytes]]:
        """Return the synsets of every base form of a word, as (part of speech, offset)."""
        return frozenset(
            (part, offset)
            for part in _PARTS
            for lemma in self._lemmas(word, part)
            for offset in self._offsets(lemma, part)
        )

    def _lemmas(self, word: str, part: str) -> list[str]:
        """Return the word and its possible base forms, of which some may not be words."""
        irregular = self._exceptions[part].get(word, ())
        regular = [
            word.removesuffix(ending) + base
            for ending, base in _DETACHED[part]
            if word.endswith(ending) and len(word) > len(ending)
        ]
        return [word, *irregular] if irregular else [word, *regular]

    def _offsets(self, lemma: str, part: str) -> list[bytes]:
        """Find a lemma's offsets by binary search; lines are in the order of their bytes."""
        data, key = self._index[part], lemma.encode()
        low, high = 0, len(data)
        while low < high:
            start = data.rfind(b"\n", 0, (low + high) // 2) + 1
            end = data.find(b"\n", start)
            end = len(data) if end < 0 else end
            name = data[start : data.find(b" ", start, end)]
            if name == key:
                fields = data[start:end].split()
                return fields[-int(fields[2]) :]  # the third field counts the offsets, which end it
            if name < key:
                low = end + 1
            else:
                high = start
        return []


@lru_cache(maxsize=4)
def open_wordnet(folder: Path | None = None) -> WordNet | None:
    """Open the WordNet of a folder, or Debian's; None without a folder and without Debian's.

    Raises NotFoundError for a named folder without a WordNet.
    """
    if folder is not None:
        return WordNet(folder)
    for debian_folder in FOLDERS:
        if (debian_folder / "index.noun").is_file():
            return WordNet(debian_folder)
    return None


def _bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NotFoundError(f"no WordNet at {path}: {error.strerror}: {_REMEDY}") from error
    start = 0
    while data.startswith(b"  ", start):  # the licence precedes the words
        start = data.find(b"\n", start) + 1
    return data[start:]


def _exceptions(path: Path) -> dict[str, tuple[str, ...]]:
    exceptions = {}
    for number, line in enumerate(_bytes(path).decode("utf-8", "replace").splitlines(), 1):
        word, *bases = line.split() or [""]
        if not word or not bases:
            raise UsageError(f"{path}:{number}: the line has no word with base forms: {_REMEDY}")
        exceptions[word] = tuple(bases)
    return exceptions
