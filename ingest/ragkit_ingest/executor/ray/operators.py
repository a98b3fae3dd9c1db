"""The stages as they run on the cluster: parse, embed, write; each is made once per process.

What goes wrong comes back as a value, because exceptions lose their cause between processes. It
knows nothing of Ray: a wave of one thing goes the same way in the program itself.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import TYPE_CHECKING, Any

import ragkit
from ragkit.errors import IngestError, LeaseLostError, RagkitError
from ragkit_ingest.executor.ray.parcels import (
    Embedded,
    Outcome,
    Parsed,
    Sent,
    process_parcels,
    without_bytes,
)
from ragkit_ingest.run.outage import AWAY, is_away, waits_s
from ragkit_ingest.run.tally import Figures, Live, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow

    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit_ingest.executor.ray.parcels import Parcel
    from ragkit_ingest.parse.options import ParseOptions
    from ragkit_ingest.parser.pool import ParseLimits, ParserPool
    from ragkit_ingest.run.boilerplate_scan import Lines
    from ragkit_ingest.run.steps import Steps

_HELD = "held"  # in a job's figures: the token that it was stored under


@dataclass(frozen=True, slots=True)
class Recipe:
    """What makes a document of a parsed file, as values: other machines make the steps of it.

    `settings` hold no secret.
    """

    settings: Settings
    collection: str
    kept: KeptSpace | None
    fingerprint: str
    options: IngestOptions
    analyser: str
    lines: Lines


class Parse:
    """Parses in a limited child process of its own, which ends with this one."""

    def __init__(self, options: ParseOptions, limits: ParseLimits, version: str) -> None:
        self._options = options
        self._limits = limits
        self._version = version

    def __call__(self, packed: pyarrow.Table) -> pyarrow.Table:
        return process_parcels(packed, self._checked)

    def _checked(self, parcel: Sent) -> Parcel:
        if self._version != ragkit.__version__:
            reason = (
                f"{socket.gethostname()} has ragkit {ragkit.__version__} where this is"
                f" {self._version}: install the same on every machine of the cluster"
            )
            return Outcome(
                *(parcel.place, "stopped", without_bytes(parcel.task)),
                stage="UsageError",
                reason=reason,
            )
        return guarded(parcel, self._parse)

    def _parse(self, parcel: Sent) -> Parcel:
        task = without_bytes(parcel.task)
        data = parcel.task.source.data
        began = perf_counter()
        try:
            text = self._pool.submit(data, task.source.item.suffix, self._options).result()
        finally:
            _spent(task.figures, "parse", began)
        return Parsed(parcel.place, task, text)

    def close(self) -> None:
        """End the child process."""
        if "_pool" in self.__dict__:
            self._pool.close()

    @cached_property
    def _pool(self) -> ParserPool:
        from ragkit_ingest.parser.pool import ParserPool

        return ParserPool(1, self._limits)


class Embed:
    """Splits texts in a limited child process and embeds their chunks, with one model per process.

    Both in one place, because both take the model: the tokens that chunks are counted in are its
    own, and passed on.
    """

    def __init__(self, recipe: Recipe, limits: ParseLimits) -> None:
        self._recipe = recipe
        self._limits = limits

    def close(self) -> None:
        """End the child process."""
        if "_pool" in self.__dict__:
            self._pool.close()

    def __call__(self, packed: pyarrow.Table) -> pyarrow.Table:
        return process_parcels(packed, lambda parcel: guarded(parcel, self._embed))

    def _embed(self, parcel: Parsed) -> Parcel:
        steps, task = self._steps, parcel.task
        began = perf_counter()
        prepared = steps.prepared(steps.split(task.source, parcel.text, self._pool))
        _spent(task.figures, "split", began)
        task.figures.notes = dict(prepared.notes)
        task.figures.chunks = len(prepared.rows)
        began = perf_counter()
        vectors = steps.embed(prepared.rows)
        _spent(task.figures, "embed", began)
        return Embedded(parcel.place, task, prepared.document, vectors, steps.embedder.space)

    @cached_property
    def _pool(self) -> ParserPool:
        from ragkit_ingest.parser.pool import ParserPool

        return ParserPool(1, self._limits)

    @cached_property
    def _steps(self) -> Steps:
        from ragkit.knowledge.embedders import Embedders

        recipe = self._recipe
        return steps_again(recipe, Embedders(recipe.settings))


class Write:
    """Stores documents, each in one transaction, if its job is still this run's.

    Ray may do a thing again whose result it has lost: the job then shows that it was stored under
    the very token that the thing carries, and that counts as storing it.
    """

    def __init__(self, settings: Settings, collection: str) -> None:
        self._settings = settings  # with the database's address
        self._collection = collection
        self._open: Database | None = None

    def __call__(self, packed: pyarrow.Table) -> pyarrow.Table:
        return process_parcels(packed, lambda parcel: guarded(parcel, self._patiently))

    def close(self) -> None:
        """Let go of the database."""
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    def _patiently(self, parcel: Embedded) -> Parcel:
        waits = waits_s()
        while True:
            try:
                return self._write(parcel)
            except AWAY as error:
                wait_s = next(waits, None)
                if not is_away(error) or wait_s is None:
                    raise
                self.close()
                time.sleep(wait_s)

    def _write(self, parcel: Embedded) -> Outcome:
        from ragkit.store.open import open_database

        if self._open is None:
            self._open = open_database(self._settings)
        store = self._open.store(self._settings.tenant, durable=False)
        task = parcel.task
        task.figures.began("write")
        try:
            document = store.put_document(
                *(self._collection, parcel.document, parcel.space, parcel.vectors),
                job=task.job,
                figures=_UnderToken(task.figures, task.job.token),
            )
        except LeaseLostError:
            job = store.job_ledger.job(task.job.id)
            if job.figures.get(_HELD) != task.job.token or job.document is None:
                return Outcome(parcel.place, "lost", task)
            document = store.document(job.document)
        finally:
            task.figures.ended("write")
        return Outcome(parcel.place, "stored", task, document)


class _UnderToken(Live):
    """A thing's figures with the token that it was stored under."""

    def __init__(self, figures: Figures, token: int) -> None:
        super().__init__(figures)
        self._token = token

    def __getitem__(self, name: str) -> Any:
        return self._token if name == _HELD else super().__getitem__(name)

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        yield _HELD

    def __len__(self) -> int:
        return super().__len__() + 1


def steps_again(recipe: Recipe, embedders: Embedders) -> Steps:
    """Make the steps of a recipe. Raises ModelError where the model is not on this machine."""
    from ragkit_ingest.run.steps import Steps

    embedder = embedders.of(recipe.kept, recipe.collection)
    steps = Steps(
        *(embedder, recipe.fingerprint, recipe.settings, recipe.options), analyser=recipe.analyser
    )
    steps.lines = recipe.lines
    return steps


def guarded(parcel: Any, do: Callable[[Any], Parcel]) -> Parcel:
    """Do something with a parcel; make an outcome of what goes wrong."""
    import psycopg

    task: Task = without_bytes(parcel.task)
    try:
        return do(parcel)
    except IngestError as error:
        return Outcome(parcel.place, "failed", task, stage=error.stage, reason=error.reason)
    except (RagkitError, psycopg.Error) as error:
        kind = type(error).__name__ if isinstance(error, RagkitError) else "DatabaseError"
        said = f"{' '.join(str(error).split())} (on {socket.gethostname()})"
        return Outcome(parcel.place, "stopped", task, stage=kind, reason=said)


def without_secrets(settings: Settings, keep: tuple[str, ...] = ()) -> Settings:
    """Return settings that can be sent to other machines: no secret but those that are named."""
    from pydantic import SecretStr

    named = ("llm_url", "reranker")  # which may hold a password
    values: Mapping[str, object] = {
        name: getattr(settings, name) for name in type(settings).model_fields
    }
    gone = [
        name
        for name, value in values.items()
        if name not in keep and (name in named or isinstance(value, SecretStr))
    ]
    return settings.model_copy(update=dict.fromkeys(gone))


def _spent(figures: Figures, stage: str, since: float) -> None:
    figures.seconds[stage] = perf_counter() - since
