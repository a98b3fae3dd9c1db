"""Haystack: converters, DocumentSplitter, sentence-transformers embedder, PgvectorDocumentStore.

As its indexing tutorial puts them together. It counts tokens only as OpenAI's models do, by a table
that is downloaded, and so words are counted, as in the tutorial.
"""

from haystack import Pipeline
from haystack.components.converters import (
    CSVToDocument,
    DOCXToDocument,
    HTMLToDocument,
    PyPDFToDocument,
    TextFileToDocument,
)
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.routers import FileTypeRouter
from haystack.components.writers import DocumentWriter
from haystack.dataclasses import Document
from haystack.utils import Secret
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
)
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore
from side import (
    DIMENSION,
    Clock,
    ModelClock,
    files_in,
    model_folder,
    serve,
    taken_in,
    texts_and_origins,
    vectors_in,
)

# 254 tokens are some 190 words of English prose; fewer, so that little is cut by the model.
CHUNK_WORDS, OVERLAP_WORDS = 170, 17
CONVERTERS = {
    "text/plain": TextFileToDocument,
    "text/markdown": TextFileToDocument,
    "text/html": HTMLToDocument,
    "application/pdf": PyPDFToDocument,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": DOCXToDocument,
    "text/csv": CSVToDocument,
}


class Haystack:
    """Its embedder, loaded; pipelines are made for each task."""

    def __init__(self) -> None:
        self.model = ModelClock()
        self.embedder = SentenceTransformersDocumentEmbedder(
            model=model_folder(), progress_bar=False
        )
        self.embedder.warm_up()
        self.embedder.run(documents=[Document(content="warm up")])

    def read(self, folder: str) -> dict[str, float]:
        """Convert and split."""
        pipeline = _reading()
        clock = Clock()
        done = pipeline.run(
            {"router": {"sources": files_in(folder)}}, include_outputs_from={"joiner", "splitter"}
        )
        spent = clock.stop()
        whole, chunks = done["joiner"]["documents"], done["splitter"]["documents"]
        chars = sum(len(document.content or "") for document in whole)
        failed = len(files_in(folder)) - len(whole)
        return {**spent, "chunks": len(chunks), "chars": chars, "failed": failed}

    def take_in(self, url: str, folder: str) -> dict[str, float]:
        """Convert, split, embed and store a folder's files."""
        kept = _store(url)
        pipeline = _reading()
        pipeline.add_component("embedder", self.embedder)
        pipeline.add_component("writer", DocumentWriter(kept))
        pipeline.connect("splitter", "embedder")
        pipeline.connect("embedder", "writer")
        self.model.seconds, clock = 0.0, Clock()
        done = pipeline.run(
            {"router": {"sources": files_in(folder)}}, include_outputs_from={"joiner", "splitter"}
        )
        spent = clock.stop()
        pipeline.remove_component("embedder")  # it belongs to one pipeline at a time
        chunks = done["splitter"]["documents"]
        texts = [chunk.content or "" for chunk in chunks]
        failed = len(files_in(folder)) - len(done["joiner"]["documents"])
        return taken_in(spent, texts, model_s=self.model.seconds, failed=failed)

    def store(self, url: str, folder: str) -> dict[str, float]:
        """Store ready vectors."""
        kept = _store(url)
        texts, vectors = vectors_in(folder)
        flat, origins = texts_and_origins(texts)
        documents = [
            Document(content=text, meta=origin, embedding=vector)
            for text, origin, vector in zip(flat, origins, vectors, strict=True)
        ]
        clock = Clock()
        kept.write_documents(documents)
        return clock.stop()


def _reading() -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component(
        "router",
        FileTypeRouter(mime_types=list(CONVERTERS), additional_mimetypes={"text/markdown": ".md"}),
    )
    pipeline.add_component("joiner", DocumentJoiner())
    for number, (kind, converter) in enumerate(CONVERTERS.items()):
        pipeline.add_component(f"converter{number}", converter())
        pipeline.connect(f"router.{kind}", f"converter{number}.sources")
        pipeline.connect(f"converter{number}.documents", "joiner.documents")
    splitter = DocumentSplitter(
        split_by="word", split_length=CHUNK_WORDS, split_overlap=OVERLAP_WORDS
    )
    pipeline.add_component("splitter", splitter)
    pipeline.connect("joiner", "splitter")
    return pipeline


def _store(url: str) -> PgvectorDocumentStore:
    kept = PgvectorDocumentStore(
        connection_string=Secret.from_token(url),
        embedding_dimension=DIMENSION,
        table_name="peer",
    )
    kept.count_documents()  # the table; otherwise made by the first write
    return kept


if __name__ == "__main__":
    side = Haystack()
    serve(side.read, side.take_in, side.store)
