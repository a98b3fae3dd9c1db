"""Hashes of data files and prompts, by which two runs of the same questions are recognised.

They stream: memory holds neither a whole file nor all prompts.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from ragkit_eval.run.item import Item

DIGITS = 16
_BLOCK_BYTES = 1 << 20


def prompt_hash(items: Iterable[Item]) -> tuple[str, int]:
    """Return the first 16 hex digits of a sha256 over the items, and their count.

    It covers prompts, choices, targets and later turns. The length of each text precedes it,
    so that different lists of texts have different hashes.
    """
    digest, count = hashlib.sha256(), 0
    for item in items:
        count += 1
        later = (item.turns,) if item.turns else ()  # so that other tasks' hashes stay
        for texts in ((item.prompt,), item.choices, item.targets, *later):
            digest.update(b"%d;" % len(texts))
            for text in texts:
                data = text.encode("utf-8", "surrogatepass")
                digest.update(b"%d:" % len(data))
                digest.update(data)
    return digest.hexdigest()[:DIGITS], count


def data_hash(paths: Iterable[Path]) -> str:
    """Return the first 16 hex digits of the sha256 of the files' bytes, one after the other."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                digest.update(block)
    return digest.hexdigest()[:DIGITS]
