"""Remove from a model's vectors what only tells the language that a text is written in.

A multilingual model puts texts of one language nearer to each other than texts of one meaning.
Projecting the vectors onto the complement of each language's mean makes their cosines comparable
across languages, and spreads those of unrelated texts around 0 (docs/decisions/0039). The means
are those of `parallel.tsv`: sentences and questions that say the same in English and Chinese.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from torch import Tensor

PARALLEL: Final = Path(__file__).with_name("parallel.tsv")


def parallel_texts() -> list[tuple[str, list[str]]]:
    """Read the texts by kind and language: ("passage" or "query", texts) for each pair of them."""
    rows = [line.split("\t") for line in PARALLEL.read_text(encoding="utf-8").splitlines()]
    return [
        (kind, [row[column] for row in rows if row[0] == kind])
        for kind in ("passage", "query")
        for column in (1, 2)
    ]


def neutral_matrix(means: Sequence[Tensor]) -> Tensor:
    """Return the symmetric matrix (d, d) that projects onto the complement of the means' span.

    With Q an orthonormal basis of the means, it is I - Q Q^T.
    """
    import torch

    basis, _ = torch.linalg.qr(torch.stack(list(means), dim=1).double())
    projection: Tensor = torch.eye(len(basis)) - basis @ basis.T
    return projection.float()
