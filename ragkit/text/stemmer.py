"""Snowball's stemmers, one for each thread: a stemmer keeps the word that it works on in itself."""

import threading
from collections.abc import Callable
from functools import cache


class Stemmer(threading.local):
    """Stems words by an algorithm of Snowball's, "english" or "porter", in any thread."""

    def __init__(self, algorithm: str) -> None:
        from Stemmer import Stemmer as Snowball

        self.stem: Callable[[str], str] = Snowball(algorithm, 0).stemWord  # 0: it keeps no words


@cache
def stemmer(algorithm: str) -> Stemmer:
    """Return the stemmer of an algorithm, always the same one."""
    return Stemmer(algorithm)
