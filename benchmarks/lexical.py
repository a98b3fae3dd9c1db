"""Search by words alone: ragkit's index in PostgreSQL against bm25s in memory and tsvector.

Zipf text, so that the words' frequencies are those of language and any size can be made.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ragkit.store import postings, segment_cache
from ragkit.store.lending import lent, transaction
from ragkit.store.open import Database, open_database

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIZES: Final = (10_000, 100_000)
QUERIES: Final = 200
SLOW_QUERIES: Final = 20  # of tsvector, which takes up to seconds each
K: Final = 10
VOCABULARY: Final = 300_000
MEAN_TERMS: Final = 100
ROUNDS: Final = 3
BLOCK: Final = 5_000  # chunks in one segment as written; merged at the end
COLLECTION: Final = "words"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Chunks of term numbers: all in one array, and where each chunk begins."""

    terms: NDArray[np.int32]
    starts: NDArray[np.int64]

    def chunk(self, number: int) -> NDArray[np.int32]:
        return self.terms[self.starts[number] : self.starts[number + 1]]

    @property
    def chunks(self) -> int:
        return len(self.starts) - 1


def make(chunks: int, seed: int = 0) -> Corpus:
    """Draw chunks of about 100 terms; a term's probability falls as 1 / (rank + 2.7)."""
    rng = np.random.default_rng(seed)
    lengths = np.clip(rng.lognormal(np.log(MEAN_TERMS) - 0.08, 0.4, chunks), 5, 512).astype(int)
    weights = 1 / (np.arange(VOCABULARY) + 2.7)
    edges = np.cumsum(weights / weights.sum())
    terms = np.searchsorted(edges, rng.random(lengths.sum())).astype(np.int32)
    return Corpus(np.minimum(terms, VOCABULARY - 1), np.append(0, np.cumsum(lengths)))


def questions(corpus: Corpus, number: int, seed: int = 1) -> list[list[str]]:
    """Draw questions of 2 to 8 words that stand together in some chunk, frequent ones and all."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        chunk = corpus.chunk(int(rng.integers(corpus.chunks)))
        found.append([_word(t) for t in rng.choice(chunk, min(len(chunk), rng.integers(2, 9)))])
    return found


def run(sizes: Sequence[int] = SIZES) -> str:
    """Measure every size; return the section."""
    lines = [
        "## Search by words\n",
        f"Zipf text of {MEAN_TERMS} words a chunk, vocabulary {VOCABULARY:,}; {QUERIES} questions"
        " of 2 to 8 words that stand in one chunk, frequent words included; the 10 best. Medians of"
        f" {ROUNDS} interleaved rounds, in one thread. *ragkit*: a transaction of its own for each"
        " question, exact BM25 over PostgreSQL, what it read before kept in memory (*warm*) or not"
        " (*cold*: after forgetting everything, and in a fresh process the first question). *bm25s*"
        " keeps its index in memory and cannot change it. *tsvector*: GIN index, OR of the words,"
        f" ts_rank_cd, {SLOW_QUERIES} questions.\n",
        "| chunks | ragkit warm | ragkit cold | first of a process | bm25s | tsvector |"
        " warm / bm25s | tsvector / warm | index, bytes a chunk | of it postings and keys |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    warm: list[float] = []
    cold: list[float] = []
    for size in sizes:
        row = _measure(size)
        warm.append(row.warm)
        cold.append(row.cold)
        times = (row.warm, row.cold, row.first, row.bm25s, row.tsvector)
        ms = " | ".join(f"{1000 * t:.2f} ms" for t in times)
        lines.append(
            f"| {size:,} | {ms} | {row.warm / row.bm25s:.1f} | {row.tsvector / row.warm:.0f}"
            f" | {row.bytes:.0f} | {row.terms_bytes} |"
        )
        print(lines[-1], flush=True)
    if len(sizes) > 1:
        fits = [np.polyfit(np.log(sizes), np.log(times), 1)[0] for times in (warm, cold)]
        lines.append(
            f"\nCost grows with the chunks to the power of {fits[0]:.2f} warm, {fits[1]:.2f} cold"
            f" (least squares over {len(sizes)} sizes). Scores are compared with bm25s' on every"
            " question: the largest difference is below 1e-4. The index is measured after VACUUM"
            " FULL; what merges leave behind is used again once the server has vacuumed."
        )
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class _Row:
    warm: float
    cold: float
    first: float
    bm25s: float
    tsvector: float
    bytes: float
    terms_bytes: str


def _measure(size: int) -> _Row:
    corpus = make(size)
    asked = questions(corpus, QUERIES)
    peer = _bm25s(corpus)
    with _home() as home:
        with _database(home) as database:
            _load(database, corpus)
            total, parts = _size(database, size)
            _agree(database, peer, asked)
            times: dict[str, list[float]] = {"ragkit": [], "bm25s": [], "cold": []}
            for _ in range(ROUNDS):
                for words in asked:
                    times["ragkit"].append(_timed(lambda w=words: _search(database, w)))
                    times["bm25s"].append(_timed(lambda w=words: peer(w)))
            for words in asked[:50]:
                segment_cache.CACHE.clear()
                times["cold"].append(_timed(lambda w=words: _search(database, w)))
            slow = _tsvector(database, corpus, asked[:SLOW_QUERIES])
        first = [_first(home, words) for words in asked[:3]]
    median = {name: float(np.median(some)) for name, some in times.items()}
    return _Row(
        median["ragkit"],
        median["cold"],
        float(np.median(first)),
        median["bm25s"],
        slow,
        total / size,
        parts,
    )


def _search(database: Database, words: Sequence[str]) -> Sequence[tuple[int, float]]:
    from ragkit.retrieve.lexical import lexical

    with database.store("default").snapshot() as reader:
        return lexical(reader, COLLECTION, " ".join(words), K).best


def _bm25s(corpus: Corpus) -> Callable[[Sequence[str]], list[float]]:
    import bm25s
    from bm25s.tokenization import Tokenized

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    numbers = [corpus.chunk(n).tolist() for n in range(corpus.chunks)]
    vocabulary = {_word(n): n for n in range(VOCABULARY)}
    index.index(Tokenized(ids=numbers, vocab=vocabulary), show_progress=False)

    def search(words: Sequence[str]) -> list[float]:
        found = index.retrieve([list(words)], k=K, show_progress=False)
        return [float(score) for score in found.scores[0]]

    return search


def _agree(
    database: Database, peer: Callable[[Sequence[str]], list[float]], asked: list[list[str]]
) -> None:
    """Compare every question's scores; also warms both up."""
    for words in asked:
        ours = [score for _, score in _search(database, words)]
        theirs = [score for score in peer(words) if score > 0]
        assert np.allclose(ours, theirs, atol=1e-4), (words, ours, theirs)


def _load(database: Database, corpus: Corpus) -> None:
    store = database.store("default", durable=False)
    owner = store.create_collection(COLLECTION).id
    began = time.perf_counter()
    for block in range(0, corpus.chunks, BLOCK):
        numbers = range(block, min(block + BLOCK, corpus.chunks))
        terms = [[_word(t) for t in corpus.chunk(n)] for n in numbers]
        with transaction(database.pool, "default") as cursor:
            postings.add_segment(cursor, "default", owner, [n + 1 for n in numbers], terms)
        with lent(database.pool) as conn:
            postings.merge(conn, "default", owner)
    with database.owner() as conn:
        conn.execute("VACUUM (FULL, ANALYZE) lexical_posting, lexical_segment")
    print(f"  {corpus.chunks:,} chunks indexed in {time.perf_counter() - began:.0f} s", flush=True)


def _size(database: Database, chunks: int) -> tuple[int, str]:
    with database.pool.connection() as conn:
        row = conn.execute(
            "SELECT pg_total_relation_size('lexical_posting')"
            " + pg_total_relation_size('lexical_segment'),"
            " (SELECT sum(length(data)) FROM lexical_posting),"
            " pg_indexes_size('lexical_posting'), (SELECT count(*) FROM lexical_segment)"
        ).fetchone()
    assert row is not None
    return int(row[0]), f"{row[1] / chunks:.0f} + {row[2] / chunks:.0f}, {row[3]} segments"


def _tsvector(database: Database, corpus: Corpus, asked: list[list[str]]) -> float:
    """Index the same chunks by tsvector; return the median time of a question."""
    with database.owner() as conn:
        conn.execute("CREATE TABLE bench_text (id bigint PRIMARY KEY, words tsvector)")
        with conn.cursor() as cursor, cursor.copy("COPY bench_text FROM STDIN") as copy:
            for n in range(corpus.chunks):
                places = enumerate(corpus.chunk(n), start=1)
                copy.write_row((n, " ".join(f"{_word(t)}:{at}" for at, t in places)))
        conn.execute("CREATE INDEX ON bench_text USING gin (words)")
        conn.execute("VACUUM (ANALYZE) bench_text")
    times = []
    for words in asked:
        query = " | ".join(words)
        times.append(_timed(lambda q=query: _ranked(database, q)))
    return float(np.median(times))


def _ranked(database: Database, query: str) -> list[Any]:
    with database.pool.connection() as conn:
        return conn.execute(
            "SELECT id, ts_rank_cd(words, q) AS rank FROM bench_text, to_tsquery('simple', %s) q"
            " WHERE words @@ q ORDER BY rank DESC LIMIT %s",
            (query, K),
        ).fetchall()


def _first(home: Path, words: Sequence[str]) -> float:
    """Time the first question of a fresh process, its database open and its modules loaded."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.lexical", "--first", str(home), *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout.split()[-1])


@contextmanager
def _home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="ragkit-lexical-"))
    try:
        yield home
    finally:
        from ragkit.store.embedded import stop

        stop(home)
        shutil.rmtree(home)


@contextmanager
def _database(home: Path) -> Iterator[Database]:
    from ragkit.settings import Settings

    with open_database(Settings(home=home)) as database:
        yield database


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def _word(number: int | np.integer) -> str:
    """Spell a term so that neither stemmer nor tokenizer changes it."""
    return f"w{number}x"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sizes", nargs="*", type=int)
    parser.add_argument("--first", nargs="+")
    given = parser.parse_args()
    if given.first:
        home, *words = given.first
        with _database(Path(home)) as database:
            database.store("default").collections()
            print(_timed(lambda: _search(database, words)))
        return
    print(run(given.sizes or SIZES))


if __name__ == "__main__":
    main()
