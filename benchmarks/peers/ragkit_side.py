"""ragkit's side of the ingestion benchmarks, in a process of its own like the peers'."""

import hashlib
import shutil
import tempfile
from pathlib import Path

import numpy as np
import psycopg
from pydantic import SecretStr
from side import MODEL_TOKENS, Clock, serve, vectors_in

from ragkit import Settings
from ragkit.embed.local import LocalEmbedder
from ragkit.settings.ingest_options import IngestOptions
from ragkit.store.open import open_database
from ragkit.types import Chunk, EmbeddingSpace, NewDocument
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.run.run import ingesting, limits, parser_count
from ragkit_ingest.run.steps import Steps
from ragkit_ingest.run.steps import read as read_item
from ragkit_ingest.sources import find

TOGETHER = 400  # documents written in one transaction: some 4,000 chunks, as ingestion does


class Ragkit:
    """Its model, loaded."""

    def __init__(self) -> None:
        self.embedder = LocalEmbedder()
        self.embedder.load()
        self.embedder.embed_passages(["warm up"])

    def read(self, folder: str) -> dict[str, float]:
        """Parse, each file in a limited process, and split: all but the model and the database."""
        settings = Settings()
        steps = Steps(self.embedder, "", settings, IngestOptions())
        items = list(find([folder], None, settings=settings))
        with ParserPool(parser_count(), limits(settings)) as parsers:
            first = read_item(items[0], max_bytes=settings.max_file_mb << 20)
            parsers.submit(first.data, first.item.suffix).exception()  # imports the parser
            clock = Clock()
            sources = [read_item(item, max_bytes=settings.max_file_mb << 20) for item in items]
            futures = [
                parsers.submit(source.data, source.item.suffix, steps.parse_options)
                for source in sources
            ]
            failed = chunks = chars = 0
            for source, future in zip(sources, futures, strict=True):
                if future.exception() is not None:
                    failed += 1
                    continue
                prepared = steps.prepared(source, future.result(), parsers)
                chunks += len(prepared.rows)
                chars += len(prepared.document.text)
            spent = clock.stop()
        return {**spent, "chunks": chunks, "chars": chars, "failed": failed}

    def take_in(self, url: str, folder: str) -> dict[str, float]:
        """Take a folder in, and once more without a change."""
        settings = Settings(database_url=SecretStr(url))
        with tempfile.TemporaryDirectory() as place:
            Path(place, "warm.txt").write_text("Warm up.")
            with ingesting([place], settings=settings) as look:
                look()  # makes the tables and loads the model
                shutil.copytree(folder, place, dirs_exist_ok=True)
                clock = Clock()
                report = look()
                spent = clock.stop()
                again = look()
        assert again.embedded == 0
        with psycopg.connect(url) as conn:
            row = conn.execute("SELECT sum(tokens + 2) FROM chunk").fetchone()
        assert row is not None
        return {
            **spent,
            "again": again.seconds,
            "chunks": report.chunks,
            "model": report.busy["embed"],
            "failed": report.failed,
            "tokens": float(row[0]),
            "cut": 0,  # the store refuses a chunk that the model would cut
        }

    def store(self, url: str, folder: str) -> dict[str, float]:
        """Store ready vectors and the words beside them; then what pays once after a load."""
        texts, flat = vectors_in(folder)
        vectors = np.asarray(flat, np.float32)
        space = EmbeddingSpace("ready", "1", vectors.shape[1])
        entries, first = [], 0
        for number, own in enumerate(texts):
            entries.append((_document(number, own), vectors[first : first + len(own)]))
            first += len(own)
        settings = Settings(database_url=SecretStr(url))
        with open_database(settings) as database:
            kept = database.store(settings.tenant, durable=False)
            for name in ("warm-up", "ready"):
                kept.create_collection(name)
            kept.put_documents("warm-up", entries[:1], space)  # makes the table of vectors
            clock = Clock()
            for start in range(0, len(entries), TOGETHER):
                kept.put_documents("ready", entries[start : start + TOGETHER], space)
            spent = clock.stop()
            clock = Clock()
            kept.finish_load("ready", space)
            return {**spent, "finish": clock.stop()["seconds"]}


def _document(number: int, texts: list[str]) -> NewDocument:
    whole = "\n".join(texts)
    chunks, start = [], 0
    for ordinal, text in enumerate(texts):
        tokens = min(MODEL_TOKENS - 2, text.count(" ") + 1)  # any number: nothing counts on it
        chunks.append(Chunk(ordinal, start, start + len(text), tokens=tokens))
        start += len(text) + 1
    digest = hashlib.sha256(whole.encode()).hexdigest()
    return NewDocument(f"{number:07}.txt", digest, "ready", whole, tuple(chunks))


if __name__ == "__main__":
    side = Ragkit()
    serve(side.read, side.take_in, side.store)
