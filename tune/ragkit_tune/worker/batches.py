"""Batches for exactly as many steps as a run has, without a text twice in one.

One pass over the sampler is the whole run: an epoch after the other, each shuffled anew. So the
place of a batch depends on the seed and its number alone, and a resumed run meets the same ones;
sentence-transformers' own length of an epoch is an estimate (its issues 3348 and 3946).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from job import StopError  # type: ignore[import-not-found]  # beside this script


def batches_of_run(count: int, parts: int, *, unique: bool) -> Callable[..., Any]:
    """Return what makes the sampler of a run with `count` batches, for `batch_sampler`.

    Each batch is drawn whole and then cut into `parts`, for as many GPUs. With `unique` no batch
    has a text twice: it would be its own negative. Sampling raises StopError when no batch can be
    made.
    """
    from sentence_transformers.base.sampler import (
        DefaultBatchSampler,
        NoDuplicatesBatchSampler,
    )
    from torch.utils.data import RandomSampler

    class RunBatches(DefaultBatchSampler):  # type: ignore[misc]
        def __init__(
            self, dataset: Any, batch_size: int, drop_last: bool, **arguments: Any
        ) -> None:
            super().__init__(dataset, batch_size=batch_size, drop_last=drop_last, **arguments)
            settings = {**arguments, "batch_size": batch_size * parts, "drop_last": drop_last}
            self._epochs = (
                NoDuplicatesBatchSampler(dataset, **settings)
                if unique
                else DefaultBatchSampler(
                    RandomSampler(dataset, generator=self.generator), **settings
                )
            )

        def __len__(self) -> int:
            return count * parts

        def __iter__(self) -> Iterator[list[int]]:
            for batch in self._whole_batches():
                size = -(-len(batch) // parts)
                yield from (batch[n * size : (n + 1) * size] for n in range(parts))

        def _whole_batches(self) -> Iterator[list[int]]:
            assert self.generator is not None, "the trainer makes it"
            remaining, epoch = count, 0
            while remaining:
                self._epochs.set_epoch(epoch)
                self.generator.manual_seed(self.seed + epoch)
                epoch_start = remaining
                for batch in self._epochs:
                    yield batch
                    remaining -= 1
                    if not remaining:
                        return
                if remaining == epoch_start:
                    raise StopError(
                        f"no batch of {self.batch_size * parts} rows can be made without a text"
                        " twice in it: lower -o batch, or make rows of more documents"
                    )
                epoch += 1

    return RunBatches
