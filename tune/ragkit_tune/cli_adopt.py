"""`ragkit tune adopt`: use a model that is proven better, and undo that."""

from typing import Annotated

import typer


def adopt(
    model: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, or a model's folder.")],
    collection: Annotated[
        str | None,
        typer.Option(
            "--collection", "-c", help="Collection to switch (default: that of the proof)."
        ),
    ] = None,
    undo: Annotated[
        bool, typer.Option("--undo", help="Use again what was used before the adoption.")
    ] = False,
    unproven: Annotated[
        bool, typer.Option("--unproven", help="Use it without a proof that it is better.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Use a model from now on: switch a collection to it, or name it as the reranker.

    Refused with exit code 1 unless `ragkit tune prove` found it better. An adapter is served: the
    command for that is printed.
    """
    if undo and (collection or unproven):
        raise typer.BadParameter("--undo goes without --collection and --unproven")
    from ragkit.cli.render import print_json
    from ragkit.settings.settings import load_settings
    from ragkit.text.printable import printable
    from ragkit_tune.adopt.adopt import adopt
    from ragkit_tune.adopt.adopt import undo as undo_adoption
    from ragkit_tune.proof.candidate import find_candidate

    settings = load_settings()
    candidate = find_candidate(model, settings)
    if undo:
        done = undo_adoption(candidate, settings)
    else:
        done = adopt(candidate, settings, collection=collection, unproven=unproven)
    if as_json:
        values = {"name": candidate.name, "adopted": not undo, "sentence": done.sentence}
        print_json({**values, "notes": list(done.notes), **done.record})
        return
    typer.echo(printable(f"{done.sentence}."))
    for note in done.notes:
        typer.echo(printable(f"Note: {note}."))
    if not undo and done.record:
        typer.echo(printable(f"Undo it: ragkit tune adopt {model} --undo"))
