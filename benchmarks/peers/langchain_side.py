"""LangChain: a loader per format, its recursive splitter, HuggingFaceEmbeddings, PGVectorStore.

Each as its page shows it; `unstructured` reads with UnstructuredLoader instead, where that works
without the downloads it asks for.
"""

import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from langchain_community.document_loaders import (
    BSHTMLLoader,
    CSVLoader,
    Docx2txtLoader,
    PyPDFLoader,
    TextLoader,
)
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
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

Loader = Callable[[Path], Any]

LOADERS: dict[str, Loader] = {
    ".txt": lambda path: TextLoader(path, encoding="utf-8"),
    ".md": lambda path: TextLoader(path, encoding="utf-8"),
    ".html": lambda path: BSHTMLLoader(path, open_encoding="utf-8"),
    ".pdf": PyPDFLoader,
    ".docx": Docx2txtLoader,
    ".csv": lambda path: CSVLoader(path, encoding="utf-8"),
}


class LangChain:
    """Its parts, loaded."""

    def __init__(self) -> None:
        self.model = ModelClock()
        self.embeddings = HuggingFaceEmbeddings(model_name=model_folder())
        self.embeddings.embed_query("warm up")
        self.splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
            AutoTokenizer.from_pretrained(model_folder()),
            chunk_size=CHUNK_TOKENS,
            chunk_overlap=OVERLAP_TOKENS,
        )

    def read(self, folder: str) -> dict[str, float]:
        """Load and split."""
        clock = Clock()
        chunks, chars, failed = self._chunks(folder)
        spent = clock.stop()
        return {**spent, "chunks": len(chunks), "chars": chars, "failed": failed}

    def unstructured(self, folder: str, most: int) -> dict[str, float]:
        """Load at most so many files with UnstructuredLoader, and split them."""
        from langchain_unstructured import UnstructuredLoader

        clock = Clock()
        chunks, chars, failed = self._chunks(
            folder, dict.fromkeys(LOADERS, UnstructuredLoader), most
        )
        spent = clock.stop()
        return {**spent, "chunks": len(chunks), "chars": chars, "failed": failed}

    def take_in(self, url: str, folder: str) -> dict[str, float]:
        """Load, split, embed and store a folder's files."""
        kept = self._store(url)
        self.model.seconds, clock = 0.0, Clock()
        chunks, _, failed = self._chunks(folder)
        kept.add_documents(chunks)
        spent = clock.stop()
        texts = [chunk.page_content for chunk in chunks]
        return taken_in(spent, texts, model_s=self.model.seconds, failed=failed)

    def store(self, url: str, folder: str) -> dict[str, float]:
        """Store ready vectors."""
        kept = self._store(url)
        documents, vectors = vectors_in(folder)
        texts, origins = texts_and_origins(documents)
        ids = [str(uuid.uuid4()) for _ in texts]
        clock = Clock()
        kept.add_embeddings(texts=texts, embeddings=vectors, metadatas=origins, ids=ids)
        return clock.stop()

    def _chunks(
        self, folder: str, loaders: Mapping[str, Loader] = LOADERS, most: int | None = None
    ) -> tuple[list[Document], int, int]:
        """Load and split file by file: a real PDF yields text that its tokenizer refuses."""
        chunks: list[Document] = []
        chars = failed = 0
        for path in files_in(folder)[:most]:
            try:
                loaded = loaders[path.suffix](path).load()
                chunks += self.splitter.split_documents(loaded)
            except Exception as error:  # noqa: BLE001  whatever a library raises, it is one file
                failed += 1
                print(path.name, repr(error)[:300], flush=True)
            else:
                chars += sum(len(document.page_content) for document in loaded)
        return chunks, chars, failed

    def _store(self, url: str) -> PGVectorStore:
        engine = PGEngine.from_connection_string(
            url.replace("postgresql://", "postgresql+psycopg://")
        )
        table = "peer_" + uuid.uuid4().hex[:8]
        engine.init_vectorstore_table(table_name=table, vector_size=DIMENSION)
        return PGVectorStore.create_sync(
            engine, table_name=table, embedding_service=self.embeddings
        )


if __name__ == "__main__":
    side = LangChain()
    serve(side.read, side.unstructured, side.take_in, side.store)
