"""The peers of the lexical section: bm25s in this process, tsvector in ragkit's own server."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import footprint
from benchmarks.homes import once
from benchmarks.zipf import VOCABULARY, Corpus, word
from ragkit.store.open import Database


def bm25s(corpus: Corpus, k: int) -> tuple[Callable[[Sequence[str]], list[float]], int]:
    """Index by bm25s; return its search, which gives the best scores, and its arrays' bytes."""
    import bm25s
    from bm25s.tokenization import Tokenized

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    vocabulary = {word(n): n for n in range(VOCABULARY)}
    index.index(Tokenized(ids=corpus, vocab=vocabulary), show_progress=False)

    def search(words: Sequence[str]) -> list[float]:
        found = index.retrieve([list(words)], k=k, show_progress=False)
        return [float(score) for score in found.scores[0]]

    return search, sum(index.scores[name].nbytes for name in ("data", "indices", "indptr"))


def tsvector(
    database: Database, corpus: Corpus, asked: list[list[str]], k: int, home: Path
) -> tuple[list[float], int]:
    """Index the same chunks by tsvector; return the questions' times, and its bytes on disk."""
    once(home, "tsvector", lambda: _load(database, corpus))
    times = []
    for words in asked:
        began = time.perf_counter()
        _ranked(database, " | ".join(words), k)
        times.append(time.perf_counter() - began)
    with database.pool.connection() as conn:
        return times, footprint.disk(conn, ("bench_text",))


def _load(database: Database, corpus: Corpus) -> dict[str, float]:
    began = time.perf_counter()
    with database.owner() as conn:
        conn.execute("DROP TABLE IF EXISTS bench_text")
        conn.execute("CREATE TABLE bench_text (id bigint PRIMARY KEY, words tsvector)")
        with conn.cursor() as cursor, cursor.copy("COPY bench_text FROM STDIN") as copy:
            for number in range(len(corpus)):
                places = enumerate(corpus.words(number), start=1)
                copy.write_row((number, " ".join(f"{spelled}:{at}" for at, spelled in places)))
        conn.execute("CREATE INDEX ON bench_text USING gin (words)")
        conn.execute("VACUUM (ANALYZE) bench_text")
    return {"seconds": time.perf_counter() - began}


def _ranked(database: Database, query: str, k: int) -> list[Any]:
    with database.pool.connection() as conn:
        return conn.execute(
            "SELECT id, ts_rank_cd(words, q) AS rank FROM bench_text, to_tsquery('simple', %s) q"
            " WHERE words @@ q ORDER BY rank DESC LIMIT %s",
            (query, k),
        ).fetchall()
