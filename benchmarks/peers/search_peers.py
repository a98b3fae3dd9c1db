"""One vector store each, driven by lines of JSON: what the search benchmarks compare ragkit with.

python search_peers.py SYSTEM FOLDER WORK [URL]: FOLDER holds vectors.npy (n x d, float32, unit
length), queries.npy, and a file for each field to filter by, random.npy and near.npy (n integers);
the system writes to WORK. It loads them, says {"ready": seconds}, and answers each line
{"query": number, "k": 10, "field": name or null, "below": t, "effort": e} with {"seconds": s,
"ids": [...]}, and {"sizes": true} with {"disk": bytes, "memory": bytes}: files in WORK or a table,
and what the process's own memory has grown by since the library was imported. Runs in the
environment of the system alone.
"""

import gc
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 5000
FIELDS = ("random", "near")
Fields = dict[str, Any]


class Faiss:
    """FAISS in memory: HNSW (M 16, as in pgvector), filters by a bitmap made in each search."""

    def __init__(self, work: Path, vectors: Any, fields: Fields) -> None:
        import faiss

        self.faiss, self.fields = faiss, fields
        faiss.omp_set_num_threads(os.cpu_count() or 1)
        self.index = faiss.IndexHNSWFlat(vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = 64
        for first in range(0, len(vectors), BATCH):
            self.index.add(vectors[first : first + BATCH])
        faiss.omp_set_num_threads(1)

    def tune(self, effort: int) -> None:
        self.effort = effort

    def search(self, query: Any, k: int, field: str | None, below: int) -> list[int]:
        options: dict[str, Any] = {"efSearch": self.effort}
        if field is not None:
            passing = np.packbits(self.fields[field] < below, bitorder="little")
            options["sel"] = self.faiss.IDSelectorBitmap(passing)
        found = self.index.search(
            query[None], k, params=self.faiss.SearchParametersHNSW(**options)
        )[1]
        return [int(row) for row in found[0] if row >= 0]


class Chroma:
    """Chroma on disk, in this process."""

    def __init__(self, work: Path, vectors: Any, fields: Fields) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(work), settings)
        self.collection = client.create_collection(
            "chunks", configuration={"hnsw": {"space": "cosine", "max_neighbors": 16}}
        )
        for first in range(0, len(vectors), BATCH):
            rows = range(first, min(first + BATCH, len(vectors)))
            self.collection.add(
                ids=[str(row) for row in rows],
                embeddings=vectors[rows.start : rows.stop],
                metadatas=[{f: int(of[row]) for f, of in fields.items()} for row in rows],
            )

    def tune(self, effort: int) -> None:
        self.collection.modify(configuration={"hnsw": {"ef_search": effort}})

    def search(self, query: Any, k: int, field: str | None, below: int) -> list[int]:
        where = None if field is None else {field: {"$lt": below}}
        found = self.collection.query(
            query_embeddings=query[None], n_results=k, where=where, include=["distances"]
        )
        return [int(row) for row in found["ids"][0]]


class Lance:
    """LanceDB on disk, in this process: IVF_HNSW_SQ, its HNSW index."""

    def __init__(self, work: Path, vectors: Any, fields: Fields) -> None:
        import lancedb
        import pyarrow
        from lancedb.index import BTree, IvfHnswSq

        width = vectors.shape[1]
        flat = pyarrow.array(vectors.reshape(-1), pyarrow.float32())
        columns = {
            "row": pyarrow.array(np.arange(len(vectors))),
            **{field: pyarrow.array(numbers) for field, numbers in fields.items()},
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, width),
        }
        database = lancedb.connect(str(work))
        self.table = database.create_table("c", pyarrow.table(columns))
        kind = IvfHnswSq(distance_type="cosine", num_partitions=1, m=16)
        self.table.create_index("vector", config=kind)
        for field in fields:
            self.table.create_index(field, config=BTree())

    def tune(self, effort: int) -> None:
        self.effort = effort

    def search(self, query: Any, k: int, field: str | None, below: int) -> list[int]:
        asked = (
            self.table.search(query)
            .ef(self.effort)
            .refine_factor(2)
            .select(["row", "_distance"])
            .limit(k)
        )
        if field is not None:
            asked = asked.where(f"{field} < {below}", prefilter=True)
        return asked.to_arrow()["row"].to_pylist()


class Qdrant:
    """Qdrant's local mode: in this process, and exact. In memory: on disk it commits each point."""

    def __init__(self, work: Path, vectors: Any, fields: Fields) -> None:
        from qdrant_client import QdrantClient, models

        self.models = models
        self.client = QdrantClient(":memory:")
        distance = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        self.client.create_collection("c", vectors_config=distance)
        for first in range(0, len(vectors), BATCH):
            rows = range(first, min(first + BATCH, len(vectors)))
            payload = [{f: int(of[row]) for f, of in fields.items()} for row in rows]
            some = vectors[rows.start : rows.stop]
            self.client.upload_collection("c", vectors=some, payload=payload, ids=list(rows))

    def tune(self, effort: int) -> None:
        """Nothing to tune: it compares every vector."""

    def search(self, query: Any, k: int, field: str | None, below: int) -> list[int]:
        models, where = self.models, None
        if field is not None:
            few = models.FieldCondition(key=field, range=models.Range(lt=below))
            where = models.Filter(must=[few])
        found = self.client.query_points("c", query=query, limit=k, query_filter=where)
        return [int(point.id) for point in found.points]


class LangChain:
    """langchain-postgres' PGVectorStore with an HNSW index, on the server at URL."""

    TABLE = "peer"

    def __init__(self, work: Path, vectors: Any, fields: Fields) -> None:
        from langchain_postgres import Column, PGEngine
        from langchain_postgres.v2.indexes import HNSWIndex

        self.url, self.width = sys.argv[4], vectors.shape[1]
        self.engine = PGEngine.from_connection_string(
            self.url.replace("postgresql://", "postgresql+psycopg://")
        )
        self.engine.init_vectorstore_table(
            self.TABLE,
            self.width,
            metadata_columns=[Column(field, "INTEGER") for field in fields],
            overwrite_existing=True,
        )
        self.load(vectors, fields)
        self.tune(100)
        self.store.apply_vector_index(HNSWIndex(m=16, ef_construction=64))
        with self.connection() as conn:
            conn.execute(f'VACUUM ANALYZE "{self.TABLE}"')

    def tune(self, effort: int) -> None:
        from langchain_core.embeddings import DeterministicFakeEmbedding
        from langchain_postgres import PGVectorStore
        from langchain_postgres.v2.indexes import DistanceStrategy, HNSWQueryOptions

        self.store = PGVectorStore.create_sync(
            self.engine,
            DeterministicFakeEmbedding(size=self.width),
            self.TABLE,
            metadata_columns=list(FIELDS),
            distance_strategy=DistanceStrategy.COSINE_DISTANCE,
            index_query_options=HNSWQueryOptions(ef_search=min(effort, 1000)),
        )

    def load(self, vectors: Any, fields: Fields) -> None:
        """Fill its table by COPY: its own `add_embeddings` writes a row at a time."""
        import uuid

        names = ", ".join(fields)
        into = f'COPY "{self.TABLE}" (langchain_id, content, embedding, {names}) FROM STDIN'
        with self.connection() as conn, conn.cursor().copy(into) as copy:
            for row, vector in enumerate(vectors):
                text = "[" + ",".join(f"{x:.7g}" for x in vector.tolist()) + "]"
                numbers = [int(of[row]) for of in fields.values()]
                copy.write_row((uuid.UUID(int=row), str(row), text, *numbers))

    def connection(self) -> Any:
        import psycopg

        return psycopg.connect(self.url, autocommit=True)

    def disk(self) -> int:
        with self.connection() as conn:
            size = conn.execute("SELECT pg_total_relation_size(%s)", (self.TABLE,))
            return int(size.fetchone()[0])

    def search(self, query: Any, k: int, field: str | None, below: int) -> list[int]:
        where = None if field is None else {field: {"$lt": below}}
        found = self.store.similarity_search_by_vector(query.tolist(), k=k, filter=where)
        return [int(document.page_content) for document in found]


# Each system, and the modules that it imports.
SYSTEMS: dict[str, tuple[type[Any], list[str]]] = {
    "faiss": (Faiss, ["faiss"]),
    "chroma": (Chroma, ["chromadb"]),
    "lancedb": (Lance, ["lancedb", "pyarrow"]),
    "qdrant": (Qdrant, ["qdrant_client"]),
    "langchain": (LangChain, ["langchain_postgres", "langchain_core.embeddings", "psycopg"]),
}


def main() -> None:
    name, folder, work = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    kind, modules = SYSTEMS[name]
    for module in modules:
        import_module(module)
    vectors = np.load(folder / "vectors.npy", mmap_mode="r")
    fields = {field: np.load(folder / f"{field}.npy") for field in FIELDS}
    queries = np.load(folder / "queries.npy")
    work.mkdir()
    before = own_memory()
    began = time.perf_counter()
    system = kind(work, vectors, fields)
    say({"ready": time.perf_counter() - began})
    effort = None
    for line in sys.stdin:
        asked = json.loads(line)
        if "sizes" in asked:
            gc.collect()
            disk = system.disk() if isinstance(system, LangChain) else files(work)
            say({"disk": disk, "memory": own_memory() - before})
            continue
        if asked["effort"] != effort:
            effort = asked["effort"]
            system.tune(effort)
        began = time.perf_counter()
        ids = system.search(queries[asked["query"]], asked["k"], asked["field"], asked["below"])
        say({"seconds": time.perf_counter() - began, "ids": ids})


def files(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def own_memory() -> int:
    """Count the bytes of this process that no file backs; see proc_pid_status(5)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    raise SystemExit("this system does not tell RssAnon")


def say(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
