"""Reranking: ragkit's cross-encoder against sentence-transformers' defaults, one MiniLM at random.

What a network costs does not depend on its weights, so none are needed; what it says does, so
scores are compared too.
"""

import random
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

QUERY = "how many days of leave do employees have in a year"
ROUNDS = 9
PAIRS = (100, 20)
TOKENS = 160
TARGET = 4.0
TARGET_20_MS = 100


def run() -> str:
    from sentence_transformers import CrossEncoder

    from ragkit.embed.precision import cpu_precision
    from ragkit.rerank.cross_encoder import CrossEncoderReranker

    folder = Path(tempfile.mkdtemp()) / "minilm"
    _write(folder)
    library: Any = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    ours = CrossEncoderReranker(str(folder), device="cpu")
    ours.load()
    passages = _passages(library.tokenizer)
    lines = [
        "## Reranking\n",
        f"A cross-encoder of MiniLM's shape (6 layers of 384, weights at random), pairs of about"
        f" {TOKENS} tokens, scored by ragkit in {cpu_precision()} and by sentence-transformers'"
        f" defaults, in turns; medians of {ROUNDS} rounds, the fastest in brackets. Wanted:"
        f" {TARGET:g} times the library's speed at {PAIRS[0]} pairs, {PAIRS[1]} pairs within"
        f" {TARGET_20_MS} ms.\n",
        "| pairs | sentence-transformers, ms | ragkit, ms | ratio |",
        "|---|---|---|---|",
    ]
    for count in PAIRS:
        theirs, mine = _timed(library, ours, passages[:count])
        ratio = f"{median(theirs) / median(mine):.1f} ({min(theirs) / min(mine):.1f})"
        lines.append(f"| {count} | {_ms(theirs)} | {_ms(mine)} | {ratio} |")
        print(lines[-1], flush=True)
    lines.append(f"\n{_agreement(library, ours, passages)}")
    return "\n".join(lines) + "\n"


def _timed(library: Any, ours: Any, passages: list[str]) -> tuple[list[float], list[float]]:
    """Time both in turns, after one round that does not count."""
    pairs = [(QUERY, passage) for passage in passages]
    theirs: list[float] = []
    mine: list[float] = []
    for _ in range(ROUNDS + 1):
        began = perf_counter()
        library.predict(pairs, show_progress_bar=False)
        between = perf_counter()
        ours.rerank(QUERY, passages)
        theirs.append(between - began)
        mine.append(perf_counter() - between)
    return theirs[1:], mine[1:]


def _ms(seconds: list[float]) -> str:
    return f"{median(seconds) * 1000:.0f} ({min(seconds) * 1000:.0f})"


def _agreement(library: Any, ours: Any, passages: list[str]) -> str:
    import numpy as np

    pairs = [(QUERY, passage) for passage in passages]
    wanted = np.asarray(library.predict(pairs, show_progress_bar=False), dtype=np.float64)
    found = np.asarray(ours.rerank(QUERY, passages), dtype=np.float64)
    worst = float(np.abs(found - wanted).max() / wanted.std())
    same = float(np.corrcoef(found, wanted)[0, 1])
    return (
        f"Scores against float32's: correlation {same:.4f}, the largest difference {worst:.2f}"
        " standard deviations of the scores."
    )


def _passages(tokenizer: Any) -> list[str]:
    """Make passages of the tokenizer's own words, so that pairs have about TOKENS tokens."""
    chance = random.Random(1)
    words = [word for word in tokenizer.get_vocab() if word.isascii() and word.isalpha()]
    beside = len(tokenizer(QUERY)["input_ids"]) + 1
    lengths = [TOKENS - beside + chance.randint(-24, 24) for _ in range(max(PAIRS))]
    return [" ".join(chance.choices(words, k=length)) for length in lengths]


def _write(folder: Path) -> None:
    """Write the network with the embedding model's tokenizer, which is BERT's own."""
    import torch
    import transformers

    from ragkit.embed.find import find_model
    from ragkit.embed.pipeline import quiet_loading

    torch.manual_seed(0)
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
        find_model("all-MiniLM-L6-v2").folder
    )
    tokenizer.model_max_length = 512
    config = transformers.BertConfig(
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        initializer_range=0.06,  # wide enough for scores to differ
    )
    config.num_labels = 1
    config.sentence_transformers = {"activation_fn": "torch.nn.modules.linear.Identity"}
    with quiet_loading():
        transformers.BertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
