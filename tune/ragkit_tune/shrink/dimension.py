"""Fewer dimensions of an embedding model's vectors, by a matrix behind its pooling.

The matrix is a Dense module without bias, which sentence-transformers runs and ragkit's own pass,
too. It selects the first dimensions (for models trained so that these say the most, Matryoshka,
arXiv:2205.13147) or the principal components of texts' vectors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import read_json
from ragkit.embed.projection import (
    MODULE,
    PLACE,
    SETTINGS,
    has_projection,
    load_projection,
    save_projection,
)
from ragkit.errors import UsageError
from ragkit.system.private_files import make_private
from ragkit_tune.model_files.folder import write_json

if TYPE_CHECKING:
    from torch import Tensor

_TYPE: Final = "sentence_transformers.models."
_MIN_TEXTS: Final = 2  # for each dimension: arbitrary; with fewer, components fit single texts


def reduce_dimension(folder: Path, dimension: int, texts: Sequence[str]) -> str:
    """Write a matrix to `dimension` into a model folder, in place; return a note for the card.

    With texts it holds the principal components of their vectors, else the first dimensions.
    Raises UsageError, ModelError.
    """
    from ragkit.embed.local import LocalEmbedder

    modules = read_json(folder / "modules.json") or []
    kinds = [str(module["type"]).rpartition(".")[2] for module in modules]
    if has_projection(folder):
        del kinds[PLACE]
    if kinds not in (["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise UsageError(
            "--dimension is for embedding models of a network and a pooling, and this one is"
            f" {', '.join(kinds) or 'without modules.json'}: leave it out"
        )
    embedder = LocalEmbedder(os.fspath(folder), device="cpu")
    width = embedder.space.dimension
    if not 1 <= dimension < width:
        raise UsageError(f"--dimension {dimension}: the model has {width}: name 1 to {width - 1}")
    if texts:
        matrix, share = _components(embedder.embed_passages(_cut(embedder, texts)), dimension)
        note = (
            f"{dimension} principal components of {len(texts)} texts' vectors, which hold"
            f" {share:.1%} of their squared length"
        )
    else:
        matrix = _first(width, dimension)
        note = f"The first {dimension} of {width} dimensions: good for Matryoshka models"
    _write(folder, modules, matrix)
    return note


def _first(width: int, dimension: int) -> Tensor:
    import torch

    return torch.eye(width)[:dimension]


def _components(vectors: Any, dimension: int) -> tuple[Tensor, float]:
    """Return the matrix (dimension, d) of the largest components about the origin.

    Not about the mean: cosines are about the origin, and a matrix alone moves none. Also the share
    of the vectors' squared length that it holds. Raises UsageError for too few texts.
    """
    import torch

    if len(vectors) < _MIN_TEXTS * dimension:
        raise UsageError(
            f"--dimension {dimension} by texts needs {_MIN_TEXTS * dimension} of them, better some"
            f" thousand, and {len(vectors)} are given: name more"
        )
    rows = torch.from_numpy(vectors).double()
    values, components = torch.linalg.eigh(rows.T @ rows)  # ascending
    chosen = components[:, -dimension:].flip(1)
    signs = chosen.gather(0, chosen.abs().argmax(0, keepdim=True)).sign()
    share = float(values[-dimension:].sum() / values.sum())
    return (chosen * signs).T.float(), share


def _cut(embedder: Any, texts: Sequence[str]) -> list[str]:
    """Cut each text to what the model takes."""
    cut = []
    for text in texts:
        spans = embedder.token_spans(text)
        limit = embedder.max_tokens - 2  # a piece at the cut may fall apart
        cut.append(text if len(spans) <= limit else text[: spans[limit - 1].end])
    return cut


def _write(folder: Path, modules: list[dict[str, Any]], matrix: Tensor) -> None:
    """Write the matrix where ragkit reads it, times the one that stands there."""
    projection = load_projection(folder, "cpu")
    if projection is not None:
        matrix = matrix @ projection.float()
    else:
        modules = [*modules[:PLACE], {"path": MODULE, "type": f"{_TYPE}Dense"}, *modules[PLACE:]]
    if not str(modules[-1]["type"]).endswith(".Normalize"):
        modules = [*modules, {"path": f"{len(modules)}_Normalize", "type": f"{_TYPE}Normalize"}]
    numbered = [module | {"idx": n, "name": str(n)} for n, module in enumerate(modules)]
    make_private(folder / MODULE)
    rows, columns = matrix.shape
    write_json(folder / "modules.json", numbered)
    write_json(
        folder / MODULE / "config.json", SETTINGS | {"in_features": columns, "out_features": rows}
    )
    save_projection(matrix, folder)
