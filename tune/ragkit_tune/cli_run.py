"""`ragkit tune embedder`, `reranker`, `adapter`, `reward`: from rows to a model and a verdict."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.errors import UsageError

if TYPE_CHECKING:
    from ragkit.settings.settings import Settings
    from ragkit_tune.plan.make import Plan
    from ragkit_tune.train import Outcome

CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", metavar="NAME", help="Collection to use.")
]
BaseOption = Annotated[
    str | None, typer.Option(metavar="MODEL", help="Model to train: a folder or hub name.")
]
DataOption = Annotated[
    Path | None, typer.Option(metavar="DATA", help="Folder of rows from `ragkit tune data`.")
]
SetOption = Annotated[
    Path | None,
    typer.Option("--set", metavar="FILE", help="Your own labelled questions, to make rows of."),
]
RecipeOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="A recipe, as TOML; options go before it.")
]
MinutesOption = Annotated[
    float | None, typer.Option(help="Time limit; the best model until then is taken.")
]
NameOption = Annotated[
    str | None, typer.Option(metavar="RUN", help="Name of the run (default: KIND-NUMBER).")
]
KeyOption = Annotated[
    list[str] | None,
    typer.Option(
        *("--option", "-o"),
        metavar="NAME=VALUE",
        help="A key of the recipe, as learning_rate=1e-5 or parameters=lora (repeatable).",
    ),
]
ProofOption = Annotated[
    bool, typer.Option("--proof/--no-proof", help="Compare the result with what is in use now.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def embedder(
    collection: CollectionOption = None,
    data: DataOption = None,
    labelled: SetOption = None,
    base: BaseOption = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    recipe: RecipeOption = None,
    option: KeyOption = None,
    proof: ProofOption = True,
    as_json: JsonOption = False,
) -> None:
    """Train an embedding model on your documents, and say whether it finds better.

    Rows are made of the collection's documents, or are those of --data. The model in use is trained
    unless --base names another. Questions about documents that were not trained on decide.
    """
    _run("embedder", **locals())


def reranker(
    collection: CollectionOption = None,
    data: DataOption = None,
    labelled: SetOption = None,
    base: BaseOption = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    recipe: RecipeOption = None,
    option: KeyOption = None,
    proof: ProofOption = True,
    as_json: JsonOption = False,
) -> None:
    """Train a reranker on your documents, and say whether results are in a better order.

    Rows are made of the collection's documents, or are those of --data. The model in use is trained
    unless --base names another. Questions about documents that were not trained on decide.
    """
    _run("reranker", **locals())


def adapter(
    base: BaseOption = None,
    data: DataOption = None,
    collection: CollectionOption = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="sft|dpo|kto|grpo",
            help="How to train (default: sft); the default learning rate follows from it.",
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Train all weights instead of a LoRA adapter.")
    ] = False,
    bits: Annotated[
        int | None, typer.Option(help="Bits of the frozen weights: 16, 8 or 4.")
    ] = None,
    gpus: Annotated[int | None, typer.Option(help="Number of GPUs.")] = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    recipe: RecipeOption = None,
    option: KeyOption = None,
    proof: ProofOption = True,
    as_json: JsonOption = False,
) -> None:
    """Train a language model on chats or preferences, and say whether it answers better."""
    values = locals()
    values["parameters"] = "full" if values.pop("full") else None
    _run("adapter", **values)


def reward(
    base: BaseOption = None,
    data: DataOption = None,
    minutes: MinutesOption = None,
    name: NameOption = None,
    recipe: RecipeOption = None,
    option: KeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a reward model, which scores answers by what people preferred."""
    _run("reward", **locals())


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
    *,
    collection: str | None = None,
    labelled: Path | None = None,
    recipe: Path | None = None,
    name: str | None = None,
    option: list[str] | None = None,
    proof: bool = False,
    as_json: bool = False,
    **values: Any,
) -> None:
    """Make rows where none are named, train and prove. `values` are those of the recipe."""
    from ragkit.cli.render import print_json
    from ragkit.settings.settings import load_settings
    from ragkit_tune.cli_runs import StepLines
    from ragkit_tune.plan.fit import check_recipe
    from ragkit_tune.recipe import read_recipe
    from ragkit_tune.run.folder import check_new_name
    from ragkit_tune.run.job import rows_kind
    from ragkit_tune.run.start import check_trainers
    from ragkit_tune.train import Listener, make_rows, train

    settings = load_settings()
    if name:
        check_new_name(settings.home, name)
    given, data = given_values(kind, settings, recipe, {**values, **read_options(option)})
    # What is wrong in the recipe shows before the rows are made.
    checked = read_recipe(recipe, **{"data": "-", **given})
    if data is None and kind in {"adapter", "reward"}:
        made = f"ragkit tune data --kind {rows_kind(checked)}"
        raise UsageError(f"--data is missing: make rows with `{made}`")
    if data is not None and labelled is not None:
        raise UsageError("--set makes rows and --data names rows: take one of them")
    check_recipe(checked, checked.gpus)
    check_trainers(checked, settings.tune_python)
    listener = Listener(_say, _show_plan, StepLines(_say))
    if data is None:
        given["data"] = make_rows(
            settings,
            collection,
            listener,
            labelled=labelled,
            max_tokens=checked.max_tokens,
            seed=checked.seed,
        )
        _say(f"rows: {given['data']}")
    outcome = train(
        read_recipe(recipe, **given),
        settings,
        listener,
        name=name or "",
        collection=collection,
        prove_it=proof,
    )
    if as_json:
        print_json(_json(outcome))
    else:
        _show(outcome)
    if outcome.run.state != "finished":
        raise typer.Exit(1)


def given_values(
    kind: str, settings: Settings, recipe: Path | None, options: Mapping[str, object]
) -> tuple[dict[str, Any], object]:
    """Return the recipe's values that go before its file, and the folder of rows that is named."""
    from ragkit_tune.recipe import make_recipe, read_toml
    from ragkit_tune.train import base_of

    from_file = read_toml(recipe) if recipe else {}
    given = {key: value for key, value in options.items() if value is not None}
    named = {**from_file, **given}
    other = named.get("kind", kind)
    make_recipe({"kind": other, "base": "-", "data": "-"})  # an unknown kind is told first
    if other != kind:
        raise UsageError(f"the recipe is of kind {other!r}: use it with `ragkit tune {other}`")
    return {**given, "kind": kind, "base": base_of(settings, kind, named)}, named.get("data")


def _say(stage: str) -> None:
    from ragkit.text.printable import printable

    typer.echo(printable(stage), err=True)


def _show_plan(plan: Plan) -> None:
    from ragkit_tune.plan.text import plan_text

    _say(plan_text(plan))


def _show(outcome: Outcome) -> None:
    from ragkit.text.printable import printable
    from ragkit_tune.cli_prove import print_verdict

    run = outcome.run
    verdict = outcome.verdict
    if run.state != "finished":
        typer.echo(printable(f"{run.name}: {run.state}: {run.failure}"))
        typer.echo(printable(f"Go on: ragkit tune runs resume {run.name}"))
    elif verdict is None:
        typer.echo(printable(f"{run.name}: {run.state}: {run.folder.model}"))
        typer.echo(printable(f"Is it better? ragkit tune prove {run.name}"))
    else:
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
