"""The ways by which a document may come in, each behind the same few calls.

tests/ingest/test_ways.py tries every promise by each.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

import pytest
from starlette.testclient import TestClient

from ragkit import KnowledgeBase
from ragkit.access import keys
from ragkit.access.library import Library
from ragkit.adapters.langchain import RagkitEmbeddings, RagkitVectorStore
from ragkit.errors import UsageError
from ragkit.knowledge.embedders import Embedders
from ragkit.settings.settings import Settings
from ragkit.store.open import Database
from ragkit.store.postgres import PostgresStore
from ragkit.types import Document
from ragkit_ingest.parser.pool import ParserPool
from ragkit_ingest.run.report import Failure
from ragkit_ingest.run.run import Engine, ingest
from ragkit_ingest.worker.enqueue import enqueue
from ragkit_serve.api.app import create_app
from ragkit_serve.api.services import Services
from tests.ingest.waiting import work_off

SIDECAR: Final = ".meta.json"
PATIENCE_S: Final = 60  # on a busy machine


@dataclass(frozen=True)
class Outcome:
    """What came of files: how many passages were embedded, and what failed, by the file's name."""

    embedded: int
    failures: Mapping[str, Failure]


class Passages:
    """Counts the passages that are embedded; `interrupt` is called once, before the next are."""

    def __init__(self) -> None:
        self.count = self.interruptions = 0
        self.interrupt: Callable[[], None] | None = None

    def note(self, rows: Sequence[object]) -> None:
        interrupt, self.interrupt = self.interrupt, None
        if interrupt is not None:
            self.interruptions += 1
            interrupt()
        self.count += len(rows)


@dataclass(frozen=True)
class Site:
    """The database and the models, which all ways share."""

    database: Database
    embedders: Embedders

    @cached_property
    def app(self) -> Any:
        settings = self.embedders.settings
        return create_app(Services(settings, self.database, Library(settings, self.database)))


class Way:
    """A way into one collection: files go in by their names, and are documents by these names."""

    column: ClassVar[str]  # of the table

    def __init__(self, site: Site, passages: Passages, folder: Path, collection: str) -> None:
        self.site = site
        self.passages = passages
        self.folder = folder
        self.collection = collection
        self.failures: list[Failure] = []
        self.tenant = site.embedders.settings.tenant
        self.store.create_collection(collection)

    def send(self, files: Mapping[str, bytes]) -> None:
        """Hand files over; where there is no queue, they are documents then."""
        raise NotImplementedError

    def work(self) -> None:
        """Have what waits in a queue taken in."""

    def repeat(self, files: Mapping[str, bytes]) -> None:
        """Do once more what takes these files in: the same command, or another worker."""
        self.send(files)

    def take(self, files: Mapping[str, bytes]) -> Outcome:
        """Take files in."""
        self.passages.count, self.failures = 0, []
        self.send(files)
        self.work()
        failures = {self.name(failure.uri): failure for failure in self.failures}
        return Outcome(self.passages.count, failures)

    def delete(self, name: str) -> None:
        self.store.remove_document(self.collection, self.documents[name].id)

    def name(self, uri: str) -> str:
        return uri

    def of_tenant(self, tenant: str) -> Way:
        """Return the same way into a collection of the same name that another tenant has."""
        embedders = copy(self.site.embedders)
        embedders.settings = embedders.settings.model_copy(update={"tenant": tenant})
        site = Site(self.site.database, embedders)
        return type(self)(site, self.passages, self.folder, self.collection)

    @property
    def settings(self) -> Settings:
        return self.site.embedders.settings

    @property
    def store(self) -> PostgresStore:
        return self.site.database.store(self.tenant)

    @property
    def documents(self) -> dict[str, Document]:
        listed = self.store.documents(self.collection)
        return {self.name(document.uri): document for document in listed}

    @property
    def texts(self) -> dict[str, str]:
        return {name: self.store.text(row.id) for name, row in self.documents.items()}

    def metadata(self, name: str) -> Mapping[str, Any]:
        return self.store.metadata(self.documents[name].id)

    def rows(self, columns: str) -> list[tuple[Any, ...]]:
        """Return columns of all passages `c` of the collection and of their documents `d`."""
        query = f"""
            SELECT {columns} FROM document d JOIN collection l ON l.id = d.collection_id
            JOIN chunk c ON c.document_id = d.id LEFT JOIN vectors_1 v ON v.chunk_id = c.id
            WHERE l.name = %s AND l.tenant = %s ORDER BY d.uri, c.ordinal
        """  # noqa: S608  constants of this file
        with self.site.database.pool.connection() as conn:
            return conn.execute(query.encode(), (self.collection, self.tenant)).fetchall()

    def knowledge_base(self) -> KnowledgeBase:
        settings, embedders = self.settings, self.site.embedders
        return KnowledgeBase.over(
            self.site.database, settings, collection=self.collection, embedders=embedders
        )

    def set_options(self, **options: str | int) -> None:
        self.store.set_ingest_options(self.collection, options)


class Ingest(Way):
    """`ragkit ingest` of a folder in which the files lie."""

    column = "`ragkit ingest`"
    engine: Engine = "local"
    sync = False

    def send(self, files: Mapping[str, bytes]) -> None:
        for name, data in files.items():
            (self.folder / name).write_bytes(data)
        self.read_folder()

    def read_folder(self) -> None:
        report = ingest(
            self.folder,
            settings=self.settings,
            collection=self.collection,
            embedders=self.site.embedders,
            sync=self.sync,
            engine=self.engine,
        )
        self.failures += report.failures

    def name(self, uri: str) -> str:
        return uri.removeprefix(f"{self.folder}/")


class Worker(Way):
    """Files that wait in a queue for a worker, which is run in this thread."""

    def work(self) -> None:
        for report in work_off(self.site.database, self.site.embedders):
            self.failures += report.failures

    def repeat(self, files: Mapping[str, bytes]) -> None:
        self.work()


class Queue(Worker, Ingest):
    """`ragkit ingest --queue` of the same, and a worker."""

    column = "`--queue`"

    def read_folder(self) -> None:
        report = enqueue(
            self.folder,
            self.site.embedders,
            self.site.database,
            collection=self.collection,
            sync=self.sync,
        )
        self.failures += report.others.failures


class Uploading(Worker):
    """Files sent to the server, and a worker."""

    column = "upload"

    def send(self, files: Mapping[str, bytes]) -> None:
        headers = {"Authorization": f"Bearer {self.key}"}
        client = TestClient(self.site.app, base_url="http://127.0.0.1:8080", headers=headers)
        parts = [("file", (name, data)) for name, data in files.items()]
        answer = client.post(f"/v1/collections/{self.collection}/documents", files=parts)
        assert answer.status_code == 202, answer.text

    def name(self, uri: str) -> str:
        return uri.removeprefix("upload:")

    @cached_property
    def key(self) -> str:
        scopes = ("read", "write")
        access = keys.create(self.site.database, name="k", tenant=self.tenant, scopes=scopes)
        return access.secret


class Ray(Ingest):
    """`ragkit ingest --engine ray`, with its operators in this process."""

    column = "`--engine ray`"
    engine = "ray"


class Adding(Ingest):
    """`KnowledgeBase.add` of the folder."""

    column = "`KnowledgeBase.add`"

    def read_folder(self) -> None:
        with KnowledgeBase.open(self.settings, collection=self.collection) as kb:
            self.failures += kb.add(self.folder, sync=self.sync).failures


class LangChain(Way):
    """`RagkitVectorStore.add_texts`: a text and its metadata instead of a file and its sidecar."""

    column = "`RagkitVectorStore`"

    def send(self, files: Mapping[str, bytes]) -> None:
        names = [name for name in files if not name.endswith(SIDECAR)]
        texts = [files[name].decode() for name in names]
        metadata = [json.loads(files.get(name + SIDECAR, b"{}")) for name in names]
        try:
            self.vector_store.add_texts(texts, metadata, ids=names)
        except UsageError as error:
            self.failures += [Failure(name, "", str(error)) for name in names]

    def delete(self, name: str) -> None:
        self.vector_store.delete([name])

    @property
    def vector_store(self) -> RagkitVectorStore:
        return RagkitVectorStore(
            RagkitEmbeddings(self.site.embedders.default),
            database=self.site.database,
            tenant=self.tenant,
            collection=self.collection,
        )


WAYS: Final = (Ingest, Queue, Uploading, Ray, Adding, LangChain)
ENGINE: Final = (Ingest, Queue, Uploading, Ray, Adding)  # decision 44


class LentPool:
    """Processes that parse and split, which stay for the runs after this one."""

    def __init__(self, pool: ParserPool) -> None:
        self._pool = pool

    def __getattr__(self, name: str) -> Any:
        return getattr(self._pool, name)

    def close(self) -> None:
        """End nothing."""


def use_operators_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what a Ray cluster would do done in this process."""
    pytest.importorskip("ray", reason="the extra ray is not installed: pip install 'ragkit[ray]'")
    import ray.data  # noqa: F401  takes seconds

    from ragkit_ingest.executor.ray import cluster, waves
    from tests.ingest.executor.test_ray import here

    @contextmanager
    def joined() -> Iterator[cluster.Size]:
        yield cluster.Size(cpus=2, gpus=0, least_cpus=2)

    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setattr(cluster, "joined", joined)
    monkeypatch.setattr(waves, "results", here)


def in_thread(work: Callable[[], None]) -> Callable[[], None]:
    """Begin work beside the caller's, and return what waits for its end."""
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001  looked at below
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()

    def join() -> None:
        thread.join(PATIENCE_S)
        assert not thread.is_alive()
        assert errors == []

    return join
