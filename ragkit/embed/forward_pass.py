"""One pass of a network over a batch of token ids, padded; and over one query, in one thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from ragkit.embed.contract import Row
    from ragkit.embed.local import Encoder


def run(
    encoder: Encoder,
    rows: Sequence[Row],
    device: str,
    frame: tuple[Sequence[int], Sequence[int]] = ((), ()),
) -> torch.Tensor:
    """Frame rows of ids by the special tokens, pad them to one length and encode them.

    Padding is masked, so its id is any.
    """
    import numpy as np
    import torch

    prefix, suffix = frame
    framed = np.array([len(prefix) + len(row) + len(suffix) for row in rows])
    mask = np.arange(framed.max()) < framed[:, None]  # (b, s)
    ids = np.zeros(mask.shape, np.int64)
    ids[mask] = np.concatenate([part for row in rows for part in (prefix, row, suffix)])
    padded = int(framed.min()) < mask.shape[1]
    with torch.inference_mode():
        real = torch.from_numpy(mask).to(device) if padded else None
        return encoder(torch.from_numpy(ids).to(device), real)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep one query on one thread.

    Its products are too small to share out: beside another busy process, two threads on two cores
    took 600 to 790 ms waiting for each other, one thread 20 to 26 ms.
    """
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
