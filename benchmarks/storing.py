"""Storing ready vectors: by ragkit, by LangChain's, LlamaIndex's and Haystack's stores, by COPY.

BENCH_VECTORS says how many vectors.
"""

from __future__ import annotations

import json
import os
import statistics
import struct
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import psycopg

from benchmarks.corpus import CHUNKS_PER_DOCUMENT, Corpus
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
from ragkit.store.embedded import EmbeddedServer

FASTER = 50.0  # what storing is to be, in times LangChain's PGVectorStore
COPY, LOOSE = "COPY", "langchain, commits not waited for"

HEAD = """## Storing ready vectors

{count:,} made-up chunks of 50 to 150 words in documents of {per}, with vectors of 384 dimensions,
ready before the clock; one PostgreSQL, a fresh database each, medians of {rounds} interleaved runs.
*CPU s*: of the library's process. ragkit: `put_documents`, 100 documents in a transaction: texts,
chunks, half-precision vectors and the words' index for BM25. Peers: text, metadata and vector in
one table, all rows in one call: LangChain's `PGVectorStore.add_embeddings`, which commits each row;
LlamaIndex's `PGVectorStore.add`; `PgvectorDocumentStore.write_documents`. ragkit writes without
waiting for the disk; *commits not waited for* is the same setting for LangChain. *COPY* is the
bound: text and vector in binary into a table without a key.

| | seconds | CPU s | rows/s | times LangChain's rows/s |
|---|---|---|---|---|"""


def run() -> str:
    """Measure, and tabulate."""
    count = int(os.environ.get("BENCH_VECTORS", "10000"))
    names = asked()
    runs: dict[str, list[Result]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder, logs = Path(place, "ready"), Path(place, "logs")
        folder.mkdir()
        logs.mkdir()
        _write(folder, count)
        with EmbeddedServer.open(Path(place, "home")) as server, sides(names, logs) as started:
            for _ in range(rounds()):
                for name, side in started.items():
                    url = fresh_database(server.url)
                    runs.setdefault(name, []).append(side.ask("store", url=url, folder=str(folder)))
                if "langchain" in started:
                    url = fresh_database(server.url, commits_wait=False)
                    result = started["langchain"].ask("store", url=url, folder=str(folder))
                    runs.setdefault(LOOSE, []).append(result)
                runs.setdefault(COPY, []).append(_copy(fresh_database(server.url), folder))
    head = HEAD.format(count=count, per=CHUNKS_PER_DOCUMENT, rounds=rounds())
    return "\n".join([head, *_rows(runs, count), "", *_said(runs, count)]) + "\n"


def _write(folder: Path, count: int) -> None:
    """Write the chunks' texts, by document, and their vectors to files that every side reads."""
    texts, vectors = [], []
    for document, rows in Corpus(count).documents():
        texts.append([document.text[chunk.start : chunk.end] for chunk in document.chunks])
        vectors.append(rows)
    (folder / "texts.json").write_text(json.dumps(texts), encoding="utf-8")
    np.save(folder / "vectors.npy", np.concatenate(vectors))


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
    if "langchain" in runs:
        found = statistics.median(ratios(runs, "ragkit", ["langchain"]))
        lines.append(
            at_least("times PGVectorStore of LangChain", FASTER, {f"{count:,} rows": found})
        )
    return lines
