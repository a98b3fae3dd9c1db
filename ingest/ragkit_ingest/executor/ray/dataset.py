"""A wave of things as a Ray Data dataset: three operators, each a pool of processes.

It knows nothing of jobs, or of what the operators do.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import ragkit
from ragkit.store.jobs.worker import MAX_ATTEMPTS
from ragkit_ingest.executor.ray.operators import Embed, Parse, Write

if TYPE_CHECKING:
    import pyarrow

    from ragkit.settings.settings import Settings
    from ragkit_ingest.executor.ray.cluster import Size
    from ragkit_ingest.executor.ray.operators import Recipe
    from ragkit_ingest.parse.options import ParseOptions
    from ragkit_ingest.parser.pool import ParseLimits

_PARSE_CPUS: Final = 0.5  # arbitrary: it mostly waits for its child process
# None, so that it can be started again where a node is gone and embedders have all that is left.
_WRITE_CPUS: Final = 0
_MOST_EMBED_CPUS: Final = 4  # arbitrary: cores of one embedder, whose model takes memory
_MOST_WRITERS: Final = 4  # arbitrary: connections to the database
# How often a process that ended, or whose machine did, is started again. Ray Data's default is for
# ever, which a file that ends its process would use up.
_RESTARTS: Final = MAX_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Plan:
    """What the operators are made of. `parsers` is how many there may be; None: one per core.

    `settings` hold the database's address, and go to what writes alone.
    """

    recipe: Recipe
    options: ParseOptions
    limits: ParseLimits
    settings: Settings
    parsers: int | None = None
    version: str = ragkit.__version__


def results(blocks: Iterable[pyarrow.Table], plan: Plan, size: Size) -> Iterator[pyarrow.Table]:
    """Yield what came of blocks as it comes, in any order. Raises ray.exceptions.RayError."""
    import ray
    from ray.data import DataContext

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.enable_operator_progress_bars = False
    put: list[Any] = [ray.put(block) for block in blocks]
    data: Any = ray.data.from_arrow_refs(put)
    parsers = plan.parsers or size.cpus
    data = _stage(data, Parse, (plan.options, plan.limits, plan.version), parsers, _PARSE_CPUS)
    if size.gpus:
        data = _stage(data, Embed, (plan.recipe, plan.limits), size.gpus, 1, num_gpus=1)
    else:
        each = max(1, min(_MOST_EMBED_CPUS, size.least_cpus // 2))
        data = _stage(data, Embed, (plan.recipe, plan.limits), max(1, size.cpus // each - 1), each)
    writing = (plan.settings, plan.recipe.collection)
    data = _stage(data, Write, writing, _MOST_WRITERS, _WRITE_CPUS)
    yield from data.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)


def _stage(
    data: Any, operator: type, arguments: tuple[Any, ...], most: int, cpus: float, **more: float
) -> Any:
    """Add an operator: a pool of one process and up to `most`, a whole block at a time."""
    from ray.data import ActorPoolStrategy

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there is no other way to bound what is done again
        return data.map_batches(
            operator,
            fn_constructor_args=arguments,
            batch_size=None,
            batch_format="pyarrow",
            compute=ActorPoolStrategy(min_size=1, max_size=max(1, most)),
            num_cpus=cpus,
            max_restarts=_RESTARTS,
            max_task_retries=-1,  # calls of an actor that is being started again count, too
            **more,
        )
