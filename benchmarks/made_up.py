"""A database of ragkit's holding the made-up collection of corpus.py, at any size."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.corpus import Corpus, load
from benchmarks.homes import home, once, refuse_half_loaded
from ragkit.settings.settings import Settings
from ragkit.store.open import Database, open_database
from ragkit.store.postgres import PostgresStore

COLLECTION = "made-up"


@dataclass(frozen=True, slots=True)
class MadeUp:
    """The open database in `home`, its store, and the corpus that it holds."""

    home: Path
    database: Database
    store: PostgresStore
    corpus: Corpus
    noted: dict[str, Any]


@contextmanager
def made_up(size: int) -> Iterator[MadeUp]:
    """Load a corpus of so many chunks, unless the home is kept and has it."""
    corpus = Corpus(size)
    with home(f"hybrid-{size}") as folder, open_database(Settings(home=folder)) as database:
        noted = once(folder, "loaded", lambda: _load(database, corpus, folder))
        yield MadeUp(folder, database, database.store("default"), corpus, noted)


def _load(database: Database, corpus: Corpus, home: Path) -> dict[str, Any]:
    began = time.perf_counter()
    store = database.store("default", durable=False)
    refuse_half_loaded(store, home)
    load(store, COLLECTION, corpus)
    with database.owner() as conn:
        conn.execute("VACUUM ANALYZE")
    seconds = time.perf_counter() - began
    print(f"  {corpus.chunks:,} chunks loaded in {seconds:.0f} s", flush=True)
    return {"loaded": seconds}
