"""LlamaIndex: SimpleDirectoryReader, SentenceSplitter, HuggingFaceEmbedding and PGVectorStore.

Its reader takes HTML as plain text unless told; it is told to take the body, by its own reader.
"""

from pathlib import Path

from llama_index.core import SimpleDirectoryReader
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, TextNode
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.readers.file import HTMLTagReader
from llama_index.vector_stores.postgres import PGVectorStore
from side import (
    CHUNK_TOKENS,
    DIMENSION,
    OVERLAP_TOKENS,
    Clock,
    ModelClock,
    files_in,
    model_folder,
    serve,
    taken_in,
    texts_and_origins,
    vectors_in,
)
from transformers import AutoTokenizer

BATCH = 32  # sentence-transformers' own; LlamaIndex asks for 10, and says to raise it


class LlamaIndex:
    """Its parts, loaded."""

    def __init__(self) -> None:
        self.model = ModelClock()
        self.embedding = HuggingFaceEmbedding(model_name=model_folder(), embed_batch_size=BATCH)
        self.embedding.get_query_embedding("warm up")
        self.splitter = SentenceSplitter(
            chunk_size=CHUNK_TOKENS,
            chunk_overlap=OVERLAP_TOKENS,
            tokenizer=AutoTokenizer.from_pretrained(model_folder()).tokenize,
        )

    def read(self, folder: str) -> dict[str, float]:
        """Load and split."""
        clock = Clock()
        documents = _documents(folder)
        nodes, failed = [], set()
        for document in documents:
            try:
                nodes += self.splitter.get_nodes_from_documents([document])
            except Exception as error:  # noqa: BLE001  whatever a library raises, it is one page
                failed.add(document.metadata["file_name"])
                print(document.metadata["file_name"], repr(error)[:300], flush=True)
        spent = clock.stop()
        chars = sum(len(document.text) for document in documents)
        lost = len(failed) + _failed(folder, documents)
        return {**spent, "chunks": len(nodes), "chars": chars, "failed": lost}

    def take_in(self, url: str, folder: str) -> dict[str, float]:
        """Load, split, embed and store a folder's files."""
        kept = _store(url)
        self.model.seconds, clock = 0.0, Clock()
        documents = _documents(folder)
        pipeline = IngestionPipeline(
            transformations=[self.splitter, self.embedding], vector_store=kept
        )
        nodes: list[BaseNode] = list(pipeline.run(documents=documents))
        spent = clock.stop()
        texts = [node.get_content(MetadataMode.EMBED) for node in nodes]
        failed = _failed(folder, documents)
        return taken_in(spent, texts, model_s=self.model.seconds, failed=failed)

    def store(self, url: str, folder: str) -> dict[str, float]:
        """Store ready vectors."""
        kept = _store(url)
        documents, vectors = vectors_in(folder)
        texts, origins = texts_and_origins(documents)
        nodes = [
            TextNode(text=text, metadata=origin, embedding=vector)
            for text, origin, vector in zip(texts, origins, vectors, strict=True)
        ]
        clock = Clock()
        kept.add(nodes)
        return clock.stop()


def _documents(folder: str) -> list:
    extractor = {".html": HTMLTagReader(tag="body")}
    return SimpleDirectoryReader(folder, file_extractor=extractor).load_data()


def _failed(folder: str, documents: list) -> int:
    """Count the files of which nothing was loaded: the reader passes over what fails."""
    read = {document.metadata.get("file_name") for document in documents}
    return sum(Path(path).name not in read for path in files_in(folder))


def _store(url: str) -> PGVectorStore:
    kept = PGVectorStore.from_params(
        connection_string=url.replace("postgresql://", "postgresql+psycopg2://"),
        async_connection_string=url.replace("postgresql://", "postgresql+asyncpg://"),
        table_name="peer",
        embed_dim=DIMENSION,
    )
    kept._initialize()  # the table; otherwise made by the first `add`
    return kept


if __name__ == "__main__":
    side = LlamaIndex()
    serve(side.read, side.take_in, side.store)
