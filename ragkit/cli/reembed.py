"""`ragkit index reembed`: move a collection to another embedding model while it is searched."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.cli import reembed_text as text
from ragkit.cli.confirm import YesOption, confirm

if TYPE_CHECKING:
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.ingest_options import IngestOptions
    from ragkit.store.postgres import PostgresStore
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.upkeep.compare_spaces import Comparison
    from ragkit.upkeep.reembed import Built


def reembed(
    to: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="MODEL", help="Name or folder of the new model, or served:NAME."
        ),
    ] = None,
    dimension: Annotated[
        int | None, typer.Option(min=1, help="Number of leading dimensions to keep.")
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to move.")
    ] = None,
    questions: Annotated[
        Path | None, typer.Option(help="Labelled questions for the comparison, as JSON lines.")
    ] = None,
    switch: Annotated[
        bool, typer.Option("--switch", help="Switch to the new model without asking.")
    ] = False,
    rollback: Annotated[
        bool, typer.Option("--rollback", help="Switch back to the previous model.")
    ] = False,
    drop: Annotated[
        bool,
        typer.Option("--drop", help="Delete the previous model's vectors, or those of --to MODEL."),
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show the stored vectors by model.")
    ] = False,
    yes: YesOption = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Move a collection to another embedding model: build, compare, switch, roll back, clean up.

    Searches and new documents use the old model until the switch. If the command is
    interrupted, run it again to continue.
    """
    if rollback + drop + status + (to is not None and not drop) != 1:
        raise typer.BadParameter("give one of --to MODEL, --rollback, --drop, --status")
    if (switch or questions is not None) and (to is None or drop):
        raise typer.BadParameter("--switch and --questions go with --to MODEL")
    if dimension is not None and to is None:
        raise typer.BadParameter("--dimension goes with --to MODEL")
    from ragkit.knowledge.embedders import Embedders
    from ragkit.settings.settings import load_settings
    from ragkit.store.open import open_database

    settings = load_settings()
    name = collection or settings.collection
    with open_database(settings) as database:
        store = database.store(settings.tenant)
        command = _Command(store, Embedders(settings), name, json)
        if status:
            command.status()
        elif rollback:
            command.roll_back()
        elif drop:
            command.drop(to, dimension, yes=yes)
        else:
            assert to is not None
            try:
                command.move(to, dimension, questions, switch=switch)
            except KeyboardInterrupt:
                typer.echo(
                    "Broken off: what is embedded stays; run the same command again to go on.",
                    err=True,
                )
                raise typer.Exit(130) from None


@dataclass(frozen=True, slots=True)
class _Command:
    store: PostgresStore
    embedders: Embedders
    collection: str
    json: bool

    def status(self) -> None:
        from ragkit.cli import render

        rows = [self._status_json(space) for space in self.store.spaces.of(self.collection)]
        if self.json:
            render.print_json({"collection": self.collection, "spaces": rows})
        else:
            text.print_status(self.collection, rows)

    def _status_json(self, space: KeptSpace) -> dict[str, Any]:
        vectors = size = missing = 0
        if space.state != "dropped":
            vectors, size = self.store.spaces.size(self.collection, space.id)
            missing = self.store.spaces.gaps(self.collection, space.id).missing()
        times = {"started_at": space.started_at, "complete_at": space.complete_at}
        return {
            **text.space_json(space.space), "name": space.name, "state": space.state,
            "source": space.source,
            "vectors": vectors, "missing": missing, "bytes": size,
            **{name: at.isoformat() if at else None for name, at in times.items()},
        }  # fmt: skip

    def move(self, to: str, dimension: int | None, questions: Path | None, *, switch: bool) -> None:
        from ragkit.cli import render
        from ragkit.errors import UsageError
        from ragkit.upkeep.compare_spaces import labelled

        labels = labelled(questions) if questions is not None else None
        active = self.store.spaces.active(self.collection)
        if active is None:
            raise UsageError(
                f"collection {self.collection!r} has no passages: set RAGKIT_EMBED_MODEL and ingest"
            )
        built = self._build(to, dimension)
        differs = built.space.id != active.id
        compared = self._compare(active, built.space, labels) if differs else None
        if not self.json:
            text.print_built(self.collection, built, active)
            text.print_comparison(compared)
        switched = differs and (switch or (not self.json and _wants_to_switch(built.space)))
        if switched:
            self._switch(built.space)
        if self.json:
            values = text.built_json(self.collection, built, active.space, compared)
            render.print_json(values | {"switched": switched})
        elif switched:
            text.print_switched(self.collection, built.space, self.embedders.settings)
        elif differs:
            text.print_not_switched(self.collection, active)

    def _build(self, to: str, dimension: int | None) -> Built:
        from ragkit.knowledge.embedders import source_of
        from ragkit.upkeep.reembed import build

        embedder = self.embedders.made(to, dimension)
        with text.progress_display() as on_progress:
            return build(
                self.store, self.collection, embedder,
                source=source_of(to), first=dimension, options=self._options(),
                on_progress=on_progress,
            )  # fmt: skip

    def _switch(self, space: KeptSpace) -> None:
        from ragkit.upkeep.reembed import switch

        with text.progress_display() as on_progress:
            embedder = self.embedders.made_for(space, self.collection)
            options = self._options()
            switch(self.store, self.collection, space, embedder, on_progress, options=options)

    def _options(self) -> IngestOptions:
        from ragkit.settings.ingest_options import options_of

        return options_of(self.embedders.settings, self.store.ingest_options(self.collection))

    def roll_back(self) -> None:
        from ragkit.cli import render
        from ragkit.upkeep.reembed import roll_back

        with text.progress_display() as on_progress:
            space = roll_back(self.store, self.collection, self.embedders, on_progress)
        if self.json:
            render.print_json({"collection": self.collection, **text.space_json(space.space)})
        else:
            text.print_switched(self.collection, space, self.embedders.settings)

    def drop(self, model: str | None, dimension: int | None, *, yes: bool) -> None:
        from ragkit.cli import render
        from ragkit.upkeep.reembed import drop

        space = self._to_drop(model, dimension)
        if space.state == "previous" and not yes:
            confirm(f"There is no going back without the vectors of {space.name}. Delete them?")
        gone, table = drop(self.store, self.collection, space)
        if self.json:
            described = {**text.space_json(space.space), "vectors": gone, "table_dropped": table}
            render.print_json({"collection": self.collection, **described})
        else:
            text.print_dropped(space, gone, shared=not table)

    def _to_drop(self, model: str | None, dimension: int | None) -> KeptSpace:
        from ragkit.errors import NotFoundError, UsageError
        from ragkit.upkeep.reembed import named

        if model is None:
            spaces = self.store.spaces.of(self.collection)
            candidates = [space for space in spaces if space.state == "previous"]
        else:
            spaces = named(self.store, self.collection, model, dimension)
            candidates = [space for space in spaces if space.state != "active"]
            if spaces and not candidates:
                raise UsageError(
                    f"collection {self.collection!r} is searched with {model}: move it to another"
                    " model first"
                )
        if len(candidates) != 1:
            number = "several" if candidates else "no"
            raise NotFoundError(
                f"collection {self.collection!r} has {number} vectors that these could be:"
                " `ragkit index reembed --status` shows them, --to MODEL and --dimension name one"
            )
        return candidates[0]

    def _compare(self, active: KeptSpace, target: KeptSpace, labels: Any) -> Comparison | None:
        """Compare both models; return None when the active model cannot be loaded."""
        from ragkit.errors import RagkitError
        from ragkit.upkeep.compare_spaces import compare, sampled

        try:
            active_embedder = self.embedders.made_for(active, self.collection)
        except RagkitError as error:
            typer.echo(f"Not compared: {error}", err=True)
            return None
        target_embedder = self.embedders.made_for(target, self.collection)
        kind = "sampled" if labels is None else "labelled"
        questions = labels or sampled(self.store, self.collection, target.id)
        if not questions:
            typer.echo("Not compared: there is no sentence to ask half of.", err=True)
            return None
        return compare(
            self.store,
            self.collection,
            (active, active_embedder),
            (target, target_embedder),
            questions,
            kind=kind,
        )


def _wants_to_switch(space: KeptSpace) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    return typer.confirm(f"Search with {space.name} from now on?", default=False, err=True)
