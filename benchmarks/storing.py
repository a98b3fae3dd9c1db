"""Storing ready vectors: by ragkit, by LangChain's, LlamaIndex's and Haystack's stores, by COPY.

Each round is a process of its own: nothing of a side has seen the texts before. BENCH_VECTORS says
how many vectors at most.
"""

from __future__ import annotations

import json
import os
import statistics
import struct
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import psycopg

from benchmarks.data import chunking, clapnq_answerable, cmrc, cranfield
from benchmarks.homes import passable_folder
from benchmarks.ingestion_sides import (
    PEERS,
    TITLES,
    Result,
    asked,
    fresh_database,
    median,
    ratios,
    rounds,
    sides,
)
from benchmarks.peers.side import Clock
from benchmarks.targets import at_least
from ragkit.store.server.embedded import EmbeddedServer

SEED = 7
DIMENSION = 384
CHUNK_CHARS = 900  # about as many as MiniLM reads of English
PER_DOCUMENT = 10
OF_COPY = 0.2  # what storing, all indexes' rows included, is to be of COPY's rows a second
FASTER = 50.0  # what storing is to be, in times LangChain's PGVectorStore
COPY, LOOSE = "COPY", "langchain, commits not waited for"

HEAD = """## Storing ready vectors

{count:,} chunks of up to {chars} characters, cut out of the texts of chunking_evaluation, CLAPNQ,
Cranfield and CMRC 2018, the last in Chinese, in documents of {per}, with random vectors of 384
dimensions, ready before the clock; one PostgreSQL, medians of {rounds} interleaved runs, each in a
fresh database and a fresh process that has seen no word of them. *CPU s*: of the library's process.
ragkit: `put_documents`, 400 documents in a transaction: texts, chunks, half-precision vectors and
the words' index for BM25. Peers: text, metadata and vector in one table, all rows in one call:
LangChain's `PGVectorStore.add_embeddings`, which commits each row; LlamaIndex's
`PGVectorStore.add`; `PgvectorDocumentStore.write_documents`. ragkit writes without waiting for the
disk; *commits not waited for* is the same setting for LangChain. *COPY* is the
bound: text and vector in binary into a table without a key.

| | seconds | CPU s | rows/s | times LangChain's rows/s |
|---|---|---|---|---|"""


def run() -> str:
    """Measure, and tabulate."""
    names = asked()
    runs: dict[str, list[Result]] = {}
    with passable_folder() as place:
        folder, logs = Path(place, "ready"), Path(place, "logs")
        folder.mkdir()
        logs.mkdir()
        count = _write(folder, int(os.environ.get("BENCH_VECTORS", "10000")))
        with EmbeddedServer.open(Path(place, "home")) as server:
            for _ in range(rounds()):
                for name in names:
                    result = _asked(name, logs, fresh_database(server.url), folder)
                    runs.setdefault(name, []).append(result)
                if "langchain" in names:
                    loose = fresh_database(server.url, commits_wait=False)
                    runs.setdefault(LOOSE, []).append(_asked("langchain", logs, loose, folder))
                runs.setdefault(COPY, []).append(_copy(fresh_database(server.url), folder))
    head = HEAD.format(count=count, per=PER_DOCUMENT, chars=CHUNK_CHARS, rounds=rounds())
    return "\n".join([head, *_rows(runs, count), "", *_said(runs, count)]) + "\n"


def _asked(name: str, logs: Path, url: str, folder: Path) -> Result:
    """Have a side store the vectors, in a process that has done nothing before."""
    with sides([name], logs) as started:
        return started[name].ask("store", url=url, folder=str(folder))


def _write(folder: Path, most: int) -> int:
    """Write chunks' texts, by document, and vectors to files that every side reads; count them."""
    chunks = list(islice(real_chunks(), most))
    texts = [chunks[first : first + PER_DOCUMENT] for first in range(0, len(chunks), PER_DOCUMENT)]
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    rows = np.random.default_rng(SEED).normal(size=(len(chunks), DIMENSION))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    np.save(folder / "vectors.npy", rows.astype(np.float32))
    return len(chunks)


def real_chunks() -> Iterator[str]:
    """Cut the labelled sets' texts, each once, into chunks, at white space where there is some."""
    sets = (chunking(), clapnq_answerable(), cranfield(), cmrc())
    for text in dict.fromkeys(text for one in sets for text in one.documents.values()):
        yield from textwrap.wrap(text, CHUNK_CHARS)


def _copy(url: str, folder: Path) -> Result:
    """Write the same by COPY alone, in the binary form of pgvector: dimension, zero, numbers."""
    documents = json.loads((folder / "texts.json").read_text(encoding="utf-8"))
    texts = [text for own in documents for text in own]
    vectors = np.load(folder / "vectors.npy")
    head = struct.pack(">HH", vectors.shape[1], 0)
    with psycopg.connect(url) as conn:
        conn.execute("CREATE TABLE ready (id bigint, body text, vector vector(384))")
        conn.commit()
        clock = Clock()
        statement = "COPY ready (id, body, vector) FROM STDIN (FORMAT BINARY)"
        with conn.cursor() as cursor, cursor.copy(statement) as copy:
            copy.set_types(["int8", "text", "bytea"])
            for number, (text, row) in enumerate(zip(texts, vectors.astype(">f4"), strict=True)):
                copy.write_row((number, text, head + row.tobytes()))
        conn.commit()
        return clock.stop()


def _rows(runs: Mapping[str, Sequence[Result]], count: int) -> list[str]:
    titles = {**TITLES, COPY: "COPY", LOOSE: f"{PEERS['langchain']}, commits not waited for"}
    lines = []
    for name, results in runs.items():
        times = ""
        if "langchain" in runs:
            times = f"{statistics.median(ratios(runs, name, ['langchain'])):.1f}"
        seconds = median(results)
        cells = titles[name], f"{seconds:.2f}", f"{median(results, 'cpu'):.2f}"
        lines.append(f"| {' | '.join(cells)} | {count / seconds:,.0f} | {times} |")
    return lines


def _said(runs: Mapping[str, Sequence[Result]], count: int) -> list[str]:
    if "ragkit" not in runs:
        return []
    finish, seconds = median(runs["ragkit"], "finish"), median(runs["ragkit"])
    lines = [
        f"At the end of a load ragkit merges the words' index and builds the vector index:"
        f" {finish:.1f} s here ({count / (seconds + finish):,.0f} rows/s with it). No peer does."
    ]
    share = statistics.median(ratios(runs, "ragkit", [COPY]))
    lines.append(at_least("of COPY's rows a second", OF_COPY, {f"{count:,} rows": share}))
    if "langchain" in runs:
        found = statistics.median(ratios(runs, "ragkit", ["langchain"]))
        lines.append(
            at_least("times PGVectorStore of LangChain", FASTER, {f"{count:,} rows": found})
        )
    return lines
