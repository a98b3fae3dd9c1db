"""What a tuned embedder's folder needs beside the trained model to be as fast as its base.

The bundled model's folder has a second tokenizer, of the same tokens, and the ranges of its
products in int8. The first is of the vocabulary and is copied; the second is of the weights and is
measured anew.
"""

from __future__ import annotations

import shutil
from pathlib import Path


def complete_embedder(base: Path, model: Path) -> None:
    """Add to a tuned folder what its base has for speed; nothing where the base has none."""
    from ragkit.embed.int8 import RANGES
    from ragkit.embed.scripts import SMALL

    if (base / SMALL).is_file():
        shutil.copyfile(base / SMALL, model / SMALL)
    if (base / RANGES).is_file():
        _measure(model)


def _measure(model: Path) -> None:
    import numpy as np
    import torch

    from ragkit.embed.bert import load_bert
    from ragkit.embed.forward_pass import run
    from ragkit.embed.int8 import MeasuredEncoder, save_ranges
    from ragkit.embed.neutral import parallel_texts
    from ragkit.embed.tokens import load_tokens

    plain = load_bert(model, "cpu", torch.float32)
    if plain is None:  # another architecture than the base's
        return
    tokens = load_tokens(model)
    encoder = MeasuredEncoder(plain.shape, plain.weights)
    rows = []
    for kind, texts in parallel_texts():
        rows = tokens.ids([f"{kind}: {text}" for text in texts])
        for row in rows:  # unpadded: padding has ranges too
            run(encoder, [row], "cpu", tokens.frame)
    save_ranges(encoder, torch.from_numpy(np.concatenate(rows).astype(np.int64)), model)
