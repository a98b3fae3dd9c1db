"""`ragkit tune export`: write rows for other trainers."""

from pathlib import Path
from typing import Annotated

import typer


def export(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="A folder that `ragkit tune data` made.")
    ],
    trainer: Annotated[
        str,
        typer.Option(
            "--for",
            metavar="TRAINER",
            help="axolotl, llamafactory, unsloth, flagembedding or sentence-transformers.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write to.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write the rows to train on in the form that another trainer reads, with a configuration.

    The test questions stay in DATA: `ragkit tune prove FOLDER --set DATA/test.jsonl` proves what
    that trainer makes.
    """
    from ragkit.cli.render import print_json
    from ragkit.text.printable import printable
    from ragkit_tune.export.configurations import VERSIONS
    from ragkit_tune.export.export import export_data

    written = export_data(data, trainer, out)
    if as_json:
        print_json({"out": str(out), "for": written.trainer, "files": dict(written.files)})
        return
    for name, count in written.files.items():
        rows = "a first configuration" if count is None else f"{count} rows"
        typer.echo(printable(f"{out / name}: {rows}"))
    typer.echo(f"For {VERSIONS[written.trainer]}.")
