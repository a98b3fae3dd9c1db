"""`ragkit tune merge`: make one model of several."""

from pathlib import Path
from typing import Annotated

import typer

from ragkit.cli.render import print_json
from ragkit.errors import UsageError

ModelsArgument = Annotated[
    list[str],
    typer.Argument(metavar="MODEL...", help="Runs, models' folders with safetensors, or names."),
]
MethodOption = Annotated[
    str,
    typer.Option(
        metavar="linear|slerp|task",
        help="linear: weighted mean; slerp: between two models, by directions; task: a base plus"
        " what each model learned.",
    ),
]
OutOption = Annotated[Path, typer.Option(metavar="FOLDER", help="Folder of the new model.")]
WeightsOption = Annotated[
    str,
    typer.Option(metavar="W,W...", help="A weight for each model (default: equal; for task, 1)."),
]
TOption = Annotated[
    float | None, typer.Option("--t", help="Place between both models, 0 to 1 (default .5).")
]
BaseOption = Annotated[
    str | None, typer.Option(metavar="MODEL", help="The model that task arithmetic adds to.")
]
AsJsonOption = Annotated[bool, typer.Option("--json", help="Print card.json.")]


def merge(
    models: ModelsArgument,
    out: OutOption,
    method: MethodOption = "linear",
    weights: WeightsOption = "",
    t: TOption = None,
    base: BaseOption = None,
    as_json: AsJsonOption = False,
) -> None:
    """Merge models of equal shapes and tokenizers, such as several runs from one base.

    Computed in float32, stored as the first model is. The result is unproven until `ragkit tune
    prove` has compared it.
    """
    from ragkit.settings.settings import load_settings
    from ragkit_tune.merge.merge import METHODS, MergeOptions, merge_models
    from ragkit_tune.model_files.card import how_to_prove
    from ragkit_tune.run.folder import model_of_run

    chosen = next((name for name in METHODS if name == method), None)
    if chosen is None:
        raise UsageError(f"--method {method} is unknown: choose one of {', '.join(METHODS)}")
    home = load_settings().home
    models = [model_of_run(home, name) for name in models]
    base = base and model_of_run(home, base)
    options = MergeOptions(tuple(models), chosen, read_numbers(weights), t, base)
    card = merge_models(options, out)
    if as_json:
        print_json({"output": str(out), **card.as_json()})
        return
    typer.echo(f"{out}: {len(models)} models merged, {card.bytes_after / 1e6:,.1f} MB of weights.")
    for note in card.notes:
        typer.echo(f"{note}.")
    typer.echo(how_to_prove(out))


def read_numbers(text: str) -> tuple[float, ...]:
    """Read numbers between commas. Raises UsageError.

    >>> read_numbers(".5,.25")
    (0.5, 0.25)
    """
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise UsageError(f"--weights {text!r} is not numbers between commas, as .5,.5") from error
