"""One vector store each, driven by lines of JSON: what the search benchmarks compare ragkit with.

python search_peers.py SYSTEM FOLDER [URL]: FOLDER holds vectors.npy (n x d, float32, unit length),
parts.npy (n integers, 0 to 999, evenly spread: `part < t` matches t/1000 of the rows) and
queries.npy. It loads them, says {"ready": ..., "disk_bytes": ..., "rss_bytes": ...}, and answers
each line {"k": 10, "below": t or null, "effort": e} with {"seconds": [...], "ids": [[...]]}, a
search for each query. Runs in the environment of the system alone.
"""

import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

BATCH = 5000


class Faiss:
    """FAISS in memory: HNSW (M 16, as pgvector's), filters by a selector of rows."""

    def __init__(self, folder: Path, vectors: Any, parts: Any) -> None:
        import faiss

        self.faiss, self.parts = faiss, parts
        faiss.omp_set_num_threads(os.cpu_count() or 1)
        self.index = faiss.IndexHNSWFlat(vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = 64
        self.index.add(vectors)
        faiss.omp_set_num_threads(1)

    def search(self, query: Any, k: int, below: int | None, effort: int) -> list[int]:
        options = {"efSearch": effort}
        if below is not None:
            rows = np.flatnonzero(self.parts < below)
            options["sel"] = self.faiss.IDSelectorBatch(rows)
        found = self.index.search(
            query[None], k, params=self.faiss.SearchParametersHNSW(**options)
        )[1]
        return [int(row) for row in found[0] if row >= 0]


class Chroma:
    """Chroma on disk, in this process."""

    def __init__(self, folder: Path, vectors: Any, parts: Any) -> None:
        import chromadb

        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(str(folder / "chroma"), settings)
        self.collection = client.create_collection(
            "chunks", configuration={"hnsw": {"space": "cosine", "max_neighbors": 16}}
        )
        for first in range(0, len(vectors), BATCH):
            rows = range(first, min(first + BATCH, len(vectors)))
            self.collection.add(
                ids=[str(row) for row in rows],
                embeddings=vectors[rows.start : rows.stop],
                metadatas=[{"part": int(parts[row])} for row in rows],
            )

    def search(self, query: Any, k: int, below: int | None, effort: int) -> list[int]:
        where = None if below is None else {"part": {"$lt": below}}
        found = self.collection.query(
            query_embeddings=query[None], n_results=k, where=where, include=["distances"]
        )
        return [int(row) for row in found["ids"][0]]


class Lance:
    """LanceDB on disk, in this process: IVF_HNSW_SQ, its HNSW index."""

    def __init__(self, folder: Path, vectors: Any, parts: Any) -> None:
        import lancedb
        import pyarrow
        from lancedb.index import BTree, IvfHnswSq

        width = vectors.shape[1]
        flat = pyarrow.array(vectors.reshape(-1), pyarrow.float32())
        columns = {
            "row": pyarrow.array(range(len(vectors))),
            "part": pyarrow.array(parts),
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, width),
        }
        database = lancedb.connect(str(folder / "lance"))
        self.table = database.create_table("c", pyarrow.table(columns))
        kind = IvfHnswSq(distance_type="cosine", num_partitions=1, m=16)
        self.table.create_index("vector", config=kind)
        self.table.create_index("part", config=BTree())

    def search(self, query: Any, k: int, below: int | None, effort: int) -> list[int]:
        asked = (
            self.table.search(query)
            .ef(effort)
            .refine_factor(2)
            .select(["row", "_distance"])
            .limit(k)
        )
        if below is not None:
            asked = asked.where(f"part < {below}", prefilter=True)
        return asked.to_arrow()["row"].to_pylist()


class Qdrant:
    """Qdrant's local mode: in this process, and exact."""

    def __init__(self, folder: Path, vectors: Any, parts: Any) -> None:
        from qdrant_client import QdrantClient, models

        self.models = models
        self.client = QdrantClient(path=str(folder / "qdrant"))
        distance = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        self.client.create_collection("c", vectors_config=distance)
        payload = [{"part": int(part)} for part in parts]
        ids = list(range(len(vectors)))
        self.client.upload_collection("c", vectors=vectors, payload=payload, ids=ids)

    def search(self, query: Any, k: int, below: int | None, effort: int) -> list[int]:
        models, where = self.models, None
        if below is not None:
            few = models.FieldCondition(key="part", range=models.Range(lt=below))
            where = models.Filter(must=[few])
        found = self.client.query_points("c", query=query, limit=k, query_filter=where)
        return [int(point.id) for point in found.points]


class LangChain:
    """langchain-postgres' PGVectorStore with an HNSW index, on the server at URL."""

    def __init__(self, folder: Path, vectors: Any, parts: Any) -> None:
        from langchain_core.embeddings import DeterministicFakeEmbedding
        from langchain_postgres import Column, PGEngine, PGVectorStore
        from langchain_postgres.v2.indexes import DistanceStrategy, HNSWIndex, HNSWQueryOptions

        url = sys.argv[3].replace("postgresql://", "postgresql+psycopg://")
        engine = PGEngine.from_connection_string(url)
        width = vectors.shape[1]
        table = "peer"
        engine.init_vectorstore_table(
            table, width, metadata_columns=[Column("part", "INTEGER")], overwrite_existing=True
        )
        self.options = HNSWQueryOptions
        self.store = PGVectorStore.create_sync(
            engine,
            DeterministicFakeEmbedding(size=width),
            table,
            metadata_columns=["part"],
            distance_strategy=DistanceStrategy.COSINE_DISTANCE,
            index_query_options=HNSWQueryOptions(ef_search=100),
        )
        self.load(sys.argv[3], table, vectors, parts)
        self.store.apply_vector_index(HNSWIndex(m=16, ef_construction=64))

    def load(self, url: str, table: str, vectors: Any, parts: Any) -> None:
        """Fill its table by COPY: its own `add_embeddings` writes a row at a time."""
        import uuid

        import psycopg

        with psycopg.connect(url) as conn, conn.cursor() as cursor:
            into = f'COPY "{table}" (langchain_id, content, embedding, part) FROM STDIN'
            with cursor.copy(into) as copy:
                for row, vector in enumerate(vectors):
                    text = "[" + ",".join(f"{x:.7g}" for x in vector) + "]"
                    copy.write_row((uuid.UUID(int=row), str(row), text, int(parts[row])))

    def search(self, query: Any, k: int, below: int | None, effort: int) -> list[int]:
        where = None if below is None else {"part": {"$lt": below}}
        found = self.store.similarity_search_by_vector(query.tolist(), k=k, filter=where)
        return [int(document.page_content) for document in found]


SYSTEMS = {
    "faiss": Faiss,
    "chroma": Chroma,
    "lancedb": Lance,
    "qdrant": Qdrant,
    "langchain": LangChain,
}


def main() -> None:
    name, folder = sys.argv[1], Path(sys.argv[2])
    vectors, parts = np.load(folder / "vectors.npy"), np.load(folder / "parts.npy")
    queries = np.load(folder / "queries.npy")
    work = folder / name
    work.mkdir()
    began = time.perf_counter()
    system = SYSTEMS[name](work, vectors, parts)
    disk = sum(path.stat().st_size for path in work.rglob("*") if path.is_file())
    rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    say({"ready": time.perf_counter() - began, "disk_bytes": disk, "rss_bytes": rss})
    for line in sys.stdin:
        asked = json.loads(line)
        seconds, ids = [], []
        for query in queries:
            began = time.perf_counter()
            ids.append(system.search(query, asked["k"], asked["below"], asked["effort"]))
            seconds.append(time.perf_counter() - began)
        say({"seconds": seconds, "ids": ids})


def say(value: dict[str, Any]) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    main()
