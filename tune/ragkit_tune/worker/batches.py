"""Batches for exactly as many steps as a run has.

One pass over the sampler is the whole run: an epoch after the other, each shuffled anew. So the
place of a batch depends on the seed and its number alone, and a resumed run meets the same ones;
sentence-transformers' own length of an epoch is an estimate (its issues 3348 and 3946).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final

from job import StopError  # type: ignore[import-not-found]  # beside this script
from pair_batches import separate_batches  # type: ignore[import-not-found]

_EMPTY: Final = 20  # epochs without a batch, after which a run stops; arbitrary


def batches_of_run(
    batches: int, parts: int, separated: Sequence[Mapping[str, Any]] = ()
) -> Callable[..., Any]:
    """Return what makes the sampler of a run with so many batches, for `batch_sampler`.

    Each batch is drawn whole and then cut into `parts`, for as many GPUs. `separated` are the rows
    of a loss in which the others of a batch are negatives: no batch has a false negative among
    them, as `pair_batches` knows them. Sampling raises StopError when no batch can be made.
    """
    from sentence_transformers.base.sampler import DefaultBatchSampler
    from torch.utils.data import RandomSampler

    class RunBatches(DefaultBatchSampler):  # type: ignore[misc]
        def __init__(
            self, dataset: Any, batch_size: int, drop_last: bool, **arguments: Any
        ) -> None:
            super().__init__(dataset, batch_size=batch_size, drop_last=drop_last, **arguments)
            self._size = batch_size * parts
            self._order = RandomSampler(dataset, generator=self.generator)
            self._plain = DefaultBatchSampler(
                self._order, batch_size=self._size, drop_last=drop_last, **arguments
            )

        def __len__(self) -> int:
            return batches * parts

        def __iter__(self) -> Iterator[list[int]]:
            for batch in self._whole_batches():
                size = -(-len(batch) // parts)
                yield from (batch[n * size : (n + 1) * size] for n in range(parts))

        def _whole_batches(self) -> Iterator[list[int]]:
            made, last = 0, 0
            for epoch in count():
                for batch in self._epoch(epoch):
                    yield batch
                    made, last = made + 1, epoch
                    if made == batches:
                        return
                if epoch - last >= _EMPTY:
                    raise StopError(
                        f"no batch of {self._size} rows can be made without a text twice in it:"
                        " set a smaller -o batch, or make rows of more documents"
                    )

        def _epoch(self, epoch: int) -> Iterable[list[int]]:
            assert self.generator is not None, "the trainer makes it"
            self.generator.manual_seed(self.seed + epoch)
            if separated:
                return separate_batches(separated, list(self._order), self._size)
            return self._plain

    return RunBatches
