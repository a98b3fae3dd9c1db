"""Load a written embedding model in a new process and compare its vectors with the trainer's.

`python reload.py FOLDER vectors.json LIMIT`. What saving lost, a prefix, the pooling, the order of
a vocabulary, shows here.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main() -> str:
    """Return "" when the vectors are equal within the limit, else how far they are apart."""
    import numpy as np
    from embedder import load  # type: ignore[import-not-found]  # beside this script

    folder, compared, limit = sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])
    expected = json.loads(compared.read_text("utf-8"))
    model = load(folder)
    name = "document" if (model.prompts or {}).get("document") else None
    vectors = model.encode(expected["texts"], prompt_name=name, normalize_embeddings=True)
    apart = float(np.abs(vectors - np.asarray(expected["vectors"])).max())
    return "" if apart <= limit else f"vectors are {apart:.4g} apart"


if __name__ == "__main__":
    sys.exit(main() or 0)
