"""`ragkit tune embedder`, `reranker`, `adapter`, `reward`: from rows to a model and a verdict."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit_tune.plan.make import Plan
    from ragkit_tune.run.log import Progress
    from ragkit_tune.train import Outcome

CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Collection to train for.")
]
BaseOption = Annotated[
    str | None,
    typer.Option(metavar="MODEL", help="Model to train, a folder or hub name (default: in use)."),
]
DataOption = Annotated[
    Path | None,
    typer.Option(help="Folder of rows from `ragkit tune data` (default: made of the collection)."),
]
SetOption = Annotated[
    Path | None,
    typer.Option("--set", metavar="FILE", help="Your own labelled questions, as JSON lines."),
]
RecipeOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A recipe, as TOML; options go before it.")
]
MinutesOption = Annotated[
    float | None, typer.Option(min=0, help="Time limit; the best model until then is taken.")
]
NameOption = Annotated[
    str | None, typer.Option(help="Name of the run (default: its kind and a number).")
]
ValueOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        "-o",
        metavar="NAME=VALUE",
        help="Value of the recipe, such as learning_rate=1e-5 or parameters=lora (repeatable).",
    ),
]
ProofOption = Annotated[
    bool, typer.Option("--proof/--no-proof", help="Compare the result with what is in use now.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def embedder(
    collection: CollectionOption = None,
    base: BaseOption = None,
    data: DataOption = None,
    labelled: SetOption = None,
    recipe: RecipeOption = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    option: ValueOption = None,
    proof: ProofOption = True,
    as_json: JsonOption = False,
) -> None:
    """Train an embedding model on your documents, and say whether it finds better.

    Rows are made of the collection's documents, or are those of --data. Questions about documents
    that were not trained on decide.
    """
    values = {"base": base, "data": data, "minutes": minutes}
    _run("embedder", collection, labelled, recipe, name, values, option, proof, as_json)


def reranker(
    collection: CollectionOption = None,
    base: BaseOption = None,
    data: DataOption = None,
    labelled: SetOption = None,
    recipe: RecipeOption = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    option: ValueOption = None,
    proof: ProofOption = True,
    as_json: JsonOption = False,
) -> None:
    """Train a reranker on your documents, and say whether results are in a better order."""
    values = {"base": base, "data": data, "minutes": minutes}
    _run("reranker", collection, labelled, recipe, name, values, option, proof, as_json)


def adapter(
    base: BaseOption = None,
    data: DataOption = None,
    collection: CollectionOption = None,
    recipe: RecipeOption = None,
    method: Annotated[
        str | None, typer.Option(metavar="sft|dpo|kto|grpo", help="How to train (default: sft).")
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Train all weights instead of a LoRA adapter.")
    ] = False,
    bits: Annotated[
        int | None, typer.Option(help="Bits of the frozen weights: 16, 8 or 4.")
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=1, help="Number of GPUs.")] = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    option: ValueOption = None,
    proof: ProofOption = True,
    as_json: JsonOption = False,
) -> None:
    """Train a language model, and say whether it answers better."""
    values = {"base": base, "data": data, "minutes": minutes, "method": method, "bits": bits}
    values |= {"gpus": gpus, "parameters": "full" if full else None}
    _run("adapter", collection, None, recipe, name, values, option, proof, as_json)


def reward(
    base: BaseOption = None,
    data: DataOption = None,
    recipe: RecipeOption = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    option: ValueOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a reward model, which scores answers by what people preferred."""
    values = {"base": base, "data": data, "minutes": minutes}
    _run("reward", None, None, recipe, name, values, option, False, as_json)


def read_options(options: list[str] | None) -> dict[str, object]:
    """Read NAME=VALUE pairs; a value is TOML where it is, else a text. Raises UsageError.

    >>> read_options(["batch=16", "matryoshka=[128, 64]", "parameters=lora"])
    {'batch': 16, 'matryoshka': [128, 64], 'parameters': 'lora'}
    """
    values: dict[str, object] = {}
    for text in options or ():
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise UsageError(f"-o {text!r} is no NAME=VALUE: write -o batch=16")
        try:
            values[name.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            values[name.strip()] = value.strip()
    return values


def _run(
    kind: str,
    collection: str | None,
    labelled: Path | None,
    recipe_file: Path | None,
    name: str | None,
    values: dict[str, Any],
    options: list[str] | None,
    prove_it: bool,
    as_json: bool,
) -> None:
    from ragkit.cli.render import print_json
    from ragkit.settings.settings import load_settings
    from ragkit_tune.recipe import read_recipe, read_toml
    from ragkit_tune.run.start import check_trainers
    from ragkit_tune.train import Listener, base_of, make_rows, train

    settings = load_settings()
    given = {key: value for key, value in values.items() if value is not None}
    given |= read_options(options)
    from_file = read_toml(recipe_file) if recipe_file else {}
    base = base_of(settings, kind, {**from_file, **given})
    listener = Listener(_say, _show_plan, _show_step)
    data = given.get("data") or from_file.get("data")
    if data is None and kind not in {"embedder", "reranker"}:
        raise UsageError("--data is missing: make rows with `ragkit tune data --kind chat`")
    if data is not None and labelled is not None:
        raise UsageError("--set makes rows and --data names rows: take one of them")
    # What is wrong in the recipe shows before the rows are made.
    checked = read_recipe(recipe_file, **{**given, "kind": kind, "base": base, "data": data or "-"})
    check_trainers(checked, settings.tune_python)
    if data is None:
        data = make_rows(
            settings,
            collection,
            listener,
            labelled=labelled,
            max_tokens=checked.max_tokens,
            seed=checked.seed,
        )
        _say(f"rows: {data}")
    recipe = read_recipe(recipe_file, **{**given, "kind": kind, "base": base, "data": data})
    outcome = train(
        recipe, settings, listener, name=name or "", collection=collection, prove_it=prove_it
    )
    if as_json:
        print_json(_json(outcome))
    else:
        _show(outcome)


def _say(stage: str) -> None:
    from ragkit.text.printable import printable

    typer.echo(printable(stage), err=True)


def _show_plan(plan: Plan) -> None:
    from ragkit_tune.plan.text import plan_text

    _say(plan_text(plan))


def _show_step(progress: Progress) -> None:
    from ragkit_tune.cli_runs import progress_line

    if progress.step % max(1, progress.steps // 20) == 0:
        _say(progress_line(progress))


def _show(outcome: Outcome) -> None:
    from ragkit.text.printable import printable
    from ragkit_tune.cli_prove import print_verdict

    run = outcome.run
    verdict = outcome.verdict
    if verdict is None:
        typer.echo(printable(f"{run.name}: {run.state}: {run.folder.model}"))
        typer.echo(printable(f"Is it better? ragkit tune prove {run.name}"))
        return
    print_verdict(run.name, run.name, verdict, run.folder.path)


def _json(outcome: Outcome) -> dict[str, Any]:
    return {
        "name": outcome.run.name,
        "state": outcome.run.state,
        "folder": str(outcome.run.folder.path),
        "steps": outcome.run.values.get("steps"),
        "recipe": outcome.plan.recipe.as_json(),
        "verdict": outcome.verdict.as_json() if outcome.verdict else None,
    }
