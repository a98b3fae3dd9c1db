"""Load a written model in a new process and compare its vectors or scores with the trainer's.

`python reload.py FOLDER COMPARED LIMIT`, where the JSON file COMPARED has queries, passages and
vectors of both, or pairs and scores.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def main() -> str:
    """Return "" when the values are equal within the limit, else how far they are apart."""
    import numpy as np

    folder, compared, limit = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    expected = json.loads(compared.read_text("utf-8"))
    name, values, trained = (_scores if "pairs" in expected else _vectors)(folder, expected)
    difference = np.abs(np.asarray(values) - np.asarray(trained))
    # NaN is not within any limit.
    return "" if (difference <= limit).all() else f"{name} are {difference.max():.4g} apart"


def _scores(folder: str, expected: dict[str, Any]) -> tuple[str, Any, Any]:
    import reranker  # type: ignore[import-not-found]  # beside this script

    pairs = [(query, passage) for query, passage in expected["pairs"]]
    return "scores", reranker.predict(reranker.load(folder), pairs), expected["scores"]


def _vectors(folder: str, expected: dict[str, Any]) -> tuple[str, Any, Any]:
    import embedder  # type: ignore[import-not-found]  # beside this script

    model = embedder.load(folder)
    vectors: list[Any] = []
    # As ragkit does, the prompts come from the folder.
    for texts, name in ((expected["queries"], "query"), (expected["passages"], "document")):
        prompt = (model.prompts or {}).get(name) or ""
        vectors += model.encode(texts, prompt=prompt, normalize_embeddings=True).tolist()
    return "vectors", vectors, expected["vectors"]


if __name__ == "__main__":
    sys.exit(main() or 0)
