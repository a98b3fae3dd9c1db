"""Adopt a model: search or rerank with it from now on, and undo that.

What was there before is kept with the model, so that undoing restores it exactly.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ragkit.errors import ModelError, SettingsError, UsageError
from ragkit_tune.adopt.proven import check_proven
from ragkit_tune.adopt.toml_line import Edit, set_value, take_back
from ragkit_tune.data.data_set import write_whole
from ragkit_tune.proof.candidate import Candidate
from ragkit_tune.proof.served import serve_command
from ragkit_tune.proof.spaces import active_space, build_space, contents_of, name_space
from ragkit_tune.run.folder import now

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit_tune.proof.verdict import Verdict

ADOPTED: Final = "adopted.json"  # beside a model that no run trained
# What is adopted by a value in ragkit.toml, and what that value is.
_WRITTEN: Final = {"reranker": "reranker", "adapter": "language model"}
_MODEL_VARIABLE: Final = "RAGKIT_LLM_MODEL"
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Adoption:
    """What was done, in a sentence, with notes; `record` is kept with the model until the undo."""

    sentence: str
    notes: tuple[str, ...]
    record: Mapping[str, Any]


def adopt(
    candidate: Candidate,
    settings: Settings,
    *,
    collection: str | None = None,
    unproven: bool = False,
    progress: Progress = lambda done, total: None,
) -> Adoption:
    """Use a model from now on. Raises ModelError, with exit code 1, for one that is not proven.

    An embedder's collection is switched to it, a reranker is written into ragkit.toml of the
    working folder. An adapter is the model server's to load; its name is written there, too, if the
    server's address is. Raises UsageError for a model that is adopted already.
    """
    earlier = read_adopted(candidate)
    if earlier:
        raise UsageError(
            f"{candidate.name} is adopted since {earlier['at']} ({earlier['where']}): undo it with"
            f" `ragkit tune adopt {candidate.name} --undo` first"
        )
    collection = collection or _proven_collection(candidate) or settings.collection
    verdict = None if unproven else check_proven(candidate, settings, collection)
    if candidate.kind == "embedder":
        done = _switch(candidate, settings, collection, verdict, progress)
    elif candidate.kind == "reranker":
        done = _set_reranker(candidate, settings)
    else:
        done = _name_adapter(candidate, settings)
    record = {"kind": candidate.kind, "at": now(), "unproven": unproven, **done.record}
    write_adopted(candidate, record)
    return Adoption(done.sentence, done.notes, record)


def undo(
    candidate: Candidate, settings: Settings, progress: Progress = lambda done, total: None
) -> Adoption:
    """Use again what was used before the adoption. Raises UsageError where nothing was adopted."""
    record = read_adopted(candidate)
    if not record:
        raise UsageError(f"{candidate.name} is not adopted: there is nothing to undo")
    if record["kind"] in _WRITTEN:
        sentence = _take_back(record)
    else:
        space = _roll_back(candidate, settings, record["collection"], progress)
        sentence = f"Collection {record['collection']!r} is searched with {space} again"
    write_adopted(candidate, None)
    return Adoption(sentence, (), record)


def _take_back(record: Mapping[str, Any]) -> str:
    """Put a setting back, and say what is used now; say what to do where a variable has it."""
    if record["edit"] is None:
        former = record["before"]
        return f"Set {record['where']}={former} again" if former else f"Unset {record['where']}"
    take_back(Edit(**record["edit"]))
    return (
        f"{record['edit']['file']} has its former {_WRITTEN[record['kind']]} again:"
        f" {record['before'] or 'none'}"
    )


def read_adopted(candidate: Candidate) -> dict[str, Any]:
    """Return what was adopted; {} for nothing."""
    if candidate.run is not None:
        return dict(candidate.run.folder.read().values.get("adopted") or {})
    file = candidate.model / ADOPTED
    return dict(json.loads(file.read_text("utf-8"))) if file.is_file() else {}


def write_adopted(candidate: Candidate, record: Mapping[str, Any] | None) -> None:
    """Keep what was adopted with the model; None removes it."""
    if candidate.run is not None:
        candidate.run.folder.update(adopted=record)
    elif record is None:
        (candidate.model / ADOPTED).unlink(missing_ok=True)
    else:
        text = json.dumps(record, ensure_ascii=False, indent=2) + "\n"
        write_whole(candidate.model / ADOPTED, text)


def _proven_collection(candidate: Candidate) -> str:
    verdict = candidate.verdict()
    return str((verdict.facts or {}).get("collection") or "") if verdict else ""


def _switch(
    candidate: Candidate,
    settings: Settings,
    collection: str,
    verdict: Verdict | None,
    progress: Progress,
) -> Adoption:
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.ingest_options import options_of
    from ragkit.store.open import open_database
    from ragkit.upkeep.reembed import switch

    with open_database(settings) as database:
        store = database.store(settings.tenant)
        active = active_space(store, collection)
        notes = list(_changes(verdict, active, contents_of(store, collection)))
        built, _ = build_space(database, settings, collection, candidate.model, progress)
        embedder = Embedders(settings).made_for(built.space, collection)
        options = options_of(settings, store.ingest_options(collection))
        switch(store, collection, built.space, embedder, options=options)
    named = name_space(active)
    if "embed_model" in settings.model_fields_set:
        notes.append(
            f"RAGKIT_EMBED_MODEL is still {settings.embed_model}: `ragkit ingest` refuses until it"
            " is unset or changed"
        )
    return Adoption(
        f"Collection {collection!r} is searched with {candidate.model} from now on, no longer with"
        f" {named}",
        tuple(notes),
        {"collection": collection, "where": f"collection {collection}", "before": named},
    )


def _changes(
    verdict: Verdict | None, active: KeptSpace, contents: Mapping[str, Any]
) -> Iterator[str]:
    """Yield what differs from the moment of the proof. Raises ModelError for another baseline."""
    if verdict is None:
        return
    facts = verdict.facts or {}
    named = name_space(active)
    if facts.get("baseline") != named:
        raise ModelError(
            f"the model was compared with {facts.get('baseline')}, and the collection is searched"
            f" with {named} now: prove it again, or use it all the same with --unproven"
        )
    if facts.get("contents") != contents["contents"]:
        yield (
            f"the collection changed since the proof of {facts.get('proven_at')}: it had"
            f" {facts.get('documents')} documents then, and has {contents['documents']} now"
        )


def _roll_back(
    candidate: Candidate, settings: Settings, collection: str, progress: Progress
) -> str:
    from ragkit.knowledge.embedders import Embedders, source_of
    from ragkit.store.open import open_database
    from ragkit.upkeep.reembed import roll_back

    with open_database(settings) as database:
        store = database.store(settings.tenant)
        active = active_space(store, collection)
        if active.source != source_of(str(candidate.model)):
            raise UsageError(
                f"collection {collection!r} is searched with {name_space(active)} now, not with"
                f" {candidate.name}: `ragkit index reembed --status -c {collection}` shows its"
                " models"
            )
        space = roll_back(
            store,
            collection,
            Embedders(settings),
            lambda state: progress(state.done, state.total),
        )
    return name_space(space)


def _set_reranker(candidate: Candidate, settings: Settings) -> Adoption:
    from ragkit.settings.sources import FILE, trace_settings

    origin = trace_settings().origins["reranker"]
    if origin not in {"default", FILE}:
        raise SettingsError(
            f"{origin} is set and wins over {FILE}: unset it first, or set"
            f" it to {candidate.model} yourself"
        )
    record = _write_setting("reranker", str(candidate.model), settings)
    return Adoption(
        f"{record['where']} names {candidate.model} as the reranker of every collection that is"
        " searched from this folder",
        ("cut-offs fitted without it are not used: `ragkit eval calibrate` fits new ones",),
        record,
    )


def _name_adapter(candidate: Candidate, settings: Settings) -> Adoption:
    """Name an adapter where its server is named: in ragkit.toml, or in variables, by their owner.

    A model in the file without a server there would be an error wherever the variable is not set.
    """
    from ragkit.settings.sources import FILE, trace_settings

    origins = trace_settings().origins
    if origins["llm_url"] == FILE and origins["llm_model"] in {"default", FILE}:
        record = _write_setting("llm_model", candidate.name, settings)
        note = f"{record['where']} names {candidate.name} as the model that answers"
    else:
        record = {"edit": None, "before": settings.llm_model, "where": _MODEL_VARIABLE}
        address = "RAGKIT_LLM_URL to its address and " if settings.llm_url is None else ""
        note = f"then set {address}{_MODEL_VARIABLE}={candidate.name}"
    notes = [note, *_prompt_notes(candidate, settings)]
    return Adoption(f"Serve it: {serve_command(candidate)}", tuple(notes), record)


def _write_setting(name: str, value: str, settings: Settings) -> dict[str, Any]:
    """Write a setting into ragkit.toml of the working folder; return what undoes that."""
    from ragkit.settings.secrets import masked
    from ragkit.settings.sources import FILE, trace_settings
    from ragkit.settings.tables import place

    file = Path.cwd() / FILE
    former = getattr(settings, name)
    edit = set_value(file, *place(name), value)
    try:
        trace_settings()
    except SettingsError:
        take_back(edit)
        raise
    shown = None if former is None else masked(name, former)
    return {"edit": edit.as_json(), "before": shown, "where": str(file)}


def _prompt_notes(candidate: Candidate, settings: Settings) -> Iterator[str]:
    """Yield a note where the prompts are not those that an adapter's rows were rendered with."""
    from ragkit.prompts.trained import current_versions, read_trained, trained_prompts

    trained = read_trained(candidate.model)
    if not trained.versions:
        data = candidate.data()
        trained = trained_prompts(data.card if data is not None else None)
    current = current_versions(settings.prompts, trained.collection or settings.collection)
    if stale := trained.stale(current):
        yield (
            f"it was trained with prompts of version {', '.join(stale)}, and they are"
            f" {', '.join(sorted(current))} now: answers may be worse"
        )
