"""The peers' side of the packing benchmark: documents cut by their splitters, and their prompts.

Run in their environment: python packing_peers.py DOCUMENTS.json (texts). Prints JSON: for each
peer its chunks, how many of them a question gets, and its prompt around {context} and {question}.
"""

import json
import sys
from pathlib import Path

from langchain_classic.chains.retrieval_qa.prompt import PROMPT
from langchain_text_splitters import RecursiveCharacterTextSplitter
from llama_index.core.constants import DEFAULT_SIMILARITY_TOP_K
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.prompts.chat_prompts import CHAT_TEXT_QA_PROMPT

LANGCHAIN_K = 4  # VectorStoreRetriever's


def main(path: str) -> None:
    texts: list[str] = json.loads(Path(path).read_text(encoding="utf-8"))
    # The sizes of LangChain's tutorial; the class's own default is 4000.
    characters = RecursiveCharacterTextSplitter(chunk_size=1000, chunk_overlap=200)
    nodes = SentenceSplitter()
    prompt = CHAT_TEXT_QA_PROMPT.format(context_str="{context}", query_str="{question}")
    peers = {
        "LangChain": {
            "chunks": [chunk for text in texts for chunk in characters.split_text(text)],
            "k": LANGCHAIN_K,
            "prompt": PROMPT.template,
        },
        "LlamaIndex": {
            "chunks": [chunk for text in texts for chunk in nodes.split_text(text)],
            "k": DEFAULT_SIMILARITY_TOP_K,
            "prompt": prompt,
        },
    }
    print(json.dumps(peers))


if __name__ == "__main__":
    main(*sys.argv[1:])
