"""Load an embedding model in a process of its own: `python -m benchmarks.tuning_load FOLDER`.

Reads a JSON list of texts from standard input, and prints seconds of
processors, megabytes and the vectors.
"""

from __future__ import annotations

import json
import resource
import sys
from time import process_time


def main(model: str, texts: list[str]) -> None:
    """Load, embed the first text, and then the others, which do not count."""
    began = process_time()
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.settings import Settings

    embedder = Embedders(Settings()).made(model, None)
    embedder.load()
    vectors = [embedder.embed_query(texts[0]).tolist()]
    cpu_s = process_time() - began
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    vectors += [embedder.embed_query(text).tolist() for text in texts[1:]]
    print(json.dumps({"cpu_s": cpu_s, "megabytes": used, "vectors": vectors}))


if __name__ == "__main__":
    main(sys.argv[1], json.load(sys.stdin))
