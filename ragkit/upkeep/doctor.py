"""Check everything a user depends on, each with its finding and a remedy. Changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from ragkit.embed.find import SERVED, shown_name
from ragkit.embed.unread_languages import languages_read, unread_in
from ragkit.errors import ModelError, NotFoundError, OtherModelError, RagkitError
from ragkit.knowledge import build
from ragkit.knowledge.embedders import source_of
from ragkit.store.admin import inspect
from ragkit.system.converters import CONVERTERS

if TYPE_CHECKING:
    from psycopg import Cursor

    from ragkit.contracts import Embedder
    from ragkit.settings.settings import Settings
    from ragkit.store.open import Database
    from ragkit.store.session import Session
    from ragkit.types import EmbeddingSpace


NO_MODEL: Final = (
    "to have them written: start a model server and set RAGKIT_LLM_URL, to Ollama for example"
    " http://127.0.0.1:11434/v1"
)


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it is in order, what was found, what to do if it is not.

    A warning is in order, but works less well than it could.
    """

    name: str
    ok: bool
    found: str
    remedy: str = ""
    warning: bool = False


def examine(settings: Settings) -> Iterator[Check]:
    """Yield the checks as they are made; a failing part never hides the others."""
    embedder = build.embedder(settings)
    model = _model(embedder, settings)
    yield model
    yield from _database(settings, embedder if model.ok else None)
    if settings.reranker is not None:
        yield _reranker(settings, embedder)
    if settings.nli_model is not None:
        yield _entailment(settings)
    yield _language_model(settings)
    yield _converters()


def _model(embedder: Embedder, settings: Settings) -> Check:
    setting = "RAGKIT_EMBED_MODEL" if settings.embed_url is None else "RAGKIT_EMBED_URL"
    try:
        embedder.load()
    except RagkitError as error:
        return Check("embedding model", False, str(error), f"see {setting}")
    space = embedder.space
    source = source_of(settings.embed_model) if settings.embed_url is None else ""
    name = shown_name(space.model, space.revision, source)
    counting = getattr(embedder, "counting", "")  # a server's model says how it counts
    return Check(
        "embedding model",
        True,
        f"{name}, {space.dimension} dimensions, reads {embedder.max_tokens} tokens of text"
        + (f", counts {counting}" if counting else "")
        + _in_languages(space),
    )


def _in_languages(space: EmbeddingSpace) -> str:
    names = languages_read(space.model)
    return f", in {names}" if names else ""


def _reranker(settings: Settings, embedder: Embedder) -> Check:
    try:
        reranker = build.reranker(settings, embedder)
        assert reranker is not None, "the settings name one"
        reranker.load()
    except RagkitError as error:
        return Check("reranker", False, str(error), "see RAGKIT_RERANKER")
    return Check("reranker", True, reranker.name)


def _entailment(settings: Settings) -> Check:
    from ragkit.answer.check.entailment import load_entailment

    try:
        load_entailment(build.entailment(settings))
    except RagkitError as error:
        return Check("entailment model", False, str(error), "see RAGKIT_NLI_MODEL")
    return Check("entailment model", True, f"{settings.nli_model}, checks answers' sentences")


def _database(settings: Settings, embedder: Embedder | None) -> Iterator[Check]:
    from ragkit.store.open import open_database
    from ragkit.store.session import open_session

    try:
        with open_database(settings) as database:
            where = "embedded" if settings.database_url is None else "by RAGKIT_DATABASE_URL"
            with open_session(database.pool, settings.tenant) as session:
                versions = inspect.versions(session)
                yield Check("database", True, f"PostgreSQL {versions.postgres}, {where}")
                yield Check("pgvector", True, versions.pgvector)
                if settings.tenants == "on":  # or it would not be open
                    role = session.cursor.connection.info.user
                    protection = f"kept apart by row-level security, which binds the role {role}"
                    yield Check("tenants", True, protection)
                if settings.database_replica_url is not None:
                    yield _replica(settings, session.cursor)
                yield from _nodes(session)
                yield _indexes(session)
                yield _orphans(session)
                yield _failed_jobs(session)
            yield _documents(database, settings)
            if embedder is not None:
                yield from _truncated(database, settings)
                yield _unread(database, settings)
                yield from _collection(database, settings)
    except RagkitError as error:
        yield Check("database", False, str(error), "`ragkit db status` says more")


def _replica(settings: Settings, cursor: Cursor[Any]) -> Check:
    from ragkit.store.connection.replica import look

    assert settings.database_replica_url is not None
    url = settings.database_replica_url.get_secret_value()
    pooler = settings.database_pooler == "transaction"
    tenants = settings.tenants == "on"
    replica = look(url, cursor.connection, pooler=pooler, tenants=tenants)
    remedy = "start it, or unset RAGKIT_DATABASE_REPLICA_URL; the primary serves searches meanwhile"
    return Check(
        "read replica", not replica.problem, str(replica), remedy if replica.problem else ""
    )


def _nodes(session: Session) -> Iterator[Check]:
    """Look at the nodes of a cluster, where the tables are distributed over one."""
    from ragkit.store.connection.citus import nodes

    for node in nodes(session.cursor.connection):
        name = f"node {node.host}:{node.port}"
        remedy = "" if node.answers else "start it; tenants on other nodes are served meanwhile"
        yield Check(name, node.answers, str(node), remedy)


def _indexes(session: Session) -> Check:
    used, findings = inspect.unused_indexes(session)
    invalid = inspect.invalid_indexes(session)
    problems = [f"{f.query} reads all {f.rows} rows of {f.table}" for f in findings]
    problems += [f"index {name} is incomplete" for name in invalid]
    if problems:
        remedy = "run `ragkit ingest` again, which rebuilds and analyses; then VACUUM ANALYZE"
        return Check("indexes", False, "; ".join(problems), remedy)
    usage = "used by the plans: " + ", ".join(used) if used else "none needed: tables are small"
    return Check("indexes", True, usage)


def _orphans(session: Session) -> Check:
    counts = inspect.orphans(session)
    summary = ", ".join(f"{count} {table}" for table, count in counts.items() if count)
    remedy = "delete the documents concerned and ingest them again" if summary else ""
    return Check("orphans", not summary, summary or "none", remedy)


def _failed_jobs(session: Session) -> Check:
    failed = inspect.failed_jobs(session)
    summary = f"{failed} failed at their last ingestion" if failed else "none failed"
    remedy = "run `ragkit ingest` on them again to see the reasons" if failed else ""
    return Check("files", True, summary, remedy)


def _documents(database: Database, settings: Settings) -> Check:
    collections = database.store(settings.tenant).collections()
    number = sum(collection.documents for collection in collections)
    if not number:
        return Check("documents", True, "none yet", "ragkit ingest FOLDER")
    places = "1 collection" if len(collections) == 1 else f"{len(collections)} collections"
    return Check("documents", True, f"{number} in {places}")


def _truncated(database: Database, settings: Settings) -> Iterator[Check]:
    """Compare each collection's chunks with what its own model reads."""
    from ragkit.knowledge.embedders import Embedders

    store, embedders = database.store(settings.tenant), Embedders(settings)
    problems: list[str] = []
    unchecked: list[str] = []
    for collection in store.collections():
        try:
            embedder = embedders.of(store.spaces.active(collection.name), collection.name)
            embedder.load()
        except (ModelError, OtherModelError):
            unchecked.append(repr(collection.name))
            continue
        if count := _longer(database, settings.tenant, collection.name, embedder.max_tokens):
            problems.append(
                f"{count} in collection {collection.name!r} longer than the"
                f" {embedder.max_tokens} tokens that its model reads"
            )
    summary = "; ".join(problems) or "none"
    if unchecked:
        summary += f"; not checked, as the model cannot be loaded here: {', '.join(unchecked)}"
    remedy = "ingest those collections again" if problems else ""
    yield Check("truncated chunks", not problems, summary, remedy)


def _unread(database: Database, settings: Settings) -> Check:
    """Compare each collection's documents with the languages that its own model reads."""
    store = database.store(settings.tenant)
    sentences: list[str] = []
    remedies: list[str] = []
    for name in (collection.name for collection in store.collections()):
        noted = unread_in(store, name)
        if noted is not None:
            sentences.append(f"in collection {name!r}, {noted.sentence().removesuffix('.')}")
            remedies.append(noted.remedy(name, settings))
    return Check(
        *("documents' languages", True, "; ".join(sentences) or "read by the collections' models"),
        remedy="; ".join(remedies),
        warning=bool(sentences),
    )


def _longer(database: Database, tenant: str, collection: str, max_tokens: int) -> int:
    from ragkit.store.session import open_session

    with open_session(database.pool, tenant) as session:
        return inspect.truncated(session, collection, max_tokens)


def _collection(database: Database, settings: Settings) -> Iterator[Check]:
    """Look at the collection's own model, and at what was fitted with it."""
    from ragkit.knowledge.embedders import CollectionEmbedder, Embedders, check_collection

    spaces = database.store(settings.tenant).spaces
    try:
        check_collection(settings, database)
        space = spaces.active(settings.collection)
    except NotFoundError:  # nothing was ingested yet
        return
    except (ModelError, OtherModelError) as error:
        yield Check("collection's model", False, str(error), "put that model back, or reembed")
        return
    if space is not None:
        summary = f"{space.name}, {space.space.dimension} dimensions"
        yield Check("collection's model", True, summary + _in_languages(space.space))
    embedder = CollectionEmbedder(Embedders(settings), spaces, settings.collection)
    if space is not None and space.source.startswith(SERVED):
        yield _served_vectors(database, settings, embedder.current())
    yield from _calibration(database, settings, embedder)


def _served_vectors(database: Database, settings: Settings, embedder: Embedder) -> Check:
    """Tell whether a server still has the model under its name that the collection is made with."""
    from ragkit.settings.ingest_options import options_of
    from ragkit.upkeep.served_vectors import SAME_COSINE, least_cosine

    name, store = "server's vectors", database.store(settings.tenant)
    options = options_of(settings, store.ingest_options(settings.collection))
    try:
        embedder.load()
        cosine = least_cosine(store, settings.collection, embedder, options)
    except RagkitError as error:
        return Check(name, False, str(error), "see RAGKIT_EMBED_URL")
    if cosine is None:
        return Check(name, True, "none yet")
    if cosine < SAME_COSINE:
        summary = f"unlike those of the collection, cosine {cosine:.2f}: it has another model now"
        remedy = "serve the old model, or give the new one another name and reembed"
        return Check(name, False, summary, remedy)
    return Check(name, True, "equal to those of the collection")


def _calibration(database: Database, settings: Settings, embedder: Embedder) -> Iterator[Check]:
    """Say whether the collection's cut-offs hold for this model; nothing where there are none."""
    from ragkit.store.people.calibration import Calibrations, space_of

    try:
        calibrations = Calibrations(database.pool, settings.tenant).of(settings.collection)
    except NotFoundError:  # nothing was ingested yet
        return
    stale = [
        calibration.mode
        for calibration in calibrations
        if not calibration.fits(space_of(embedder, calibration.mode), "")
    ]
    if stale:
        summary = f"fitted with another model and not used: {', '.join(stale)}"
        yield Check("calibration", False, summary, "run `ragkit eval calibrate` again")
    elif calibrations:
        yield Check(
            "calibration",
            True,
            f"fitted for {', '.join(calibration.mode for calibration in calibrations)}",
        )


def _converters() -> Check:
    """Say which programs are there that read formats which ragkit does not read itself."""
    installed = [f"{program.name} ({program.formats})" for program in CONVERTERS if program.path()]
    missing = [
        f"{program.name} ({program.formats})" for program in CONVERTERS if not program.path()
    ]
    summary = f"read by other programs: {', '.join(installed) or 'nothing'}"
    remedy = f"install what you need of these: {', '.join(missing)}" if missing else ""
    return Check("other formats", True, summary, remedy)


def _language_model(settings: Settings) -> Check:
    name = "language model"
    if settings.llm_url is None:
        summary = "not set: answers are sentences quoted from the sources"
        return Check(name, True, summary, NO_MODEL)
    from ragkit.upkeep.examine_model import examine_model

    try:
        examined = examine_model(settings)
    except RagkitError as error:
        return Check(name, False, str(error), "see RAGKIT_LLM_URL and RAGKIT_LLM_MODEL")
    return Check(name, examined.ok, examined.found, examined.remedy)
