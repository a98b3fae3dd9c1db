"""`ragkit tune prove`: say whether a model is better, on questions that it was not trained on."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ragkit_tune.proof.verdict import Verdict


def prove(
    model: Annotated[str, typer.Argument(metavar="RUN", help="A run's name, or a model's folder.")],
    questions: Annotated[
        Path | None,
        typer.Option(
            "--set",
            metavar="FILE",
            help="Labelled questions, as JSON lines (default: the test of the run's data).",
        ),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option("--collection", "-c", help="Collection to search (default: the data's)."),
    ] = None,
    guard: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SET[=COLLECTION]",
            help="Labelled questions on which the model must not get worse; for an adapter also a"
            " task of `ragkit eval tasks`, such as mmlu (repeatable).",
        ),
    ] = None,
    handbook: Annotated[
        bool, typer.Option("--handbook/--no-handbook", help="Guard by the example handbook, too.")
    ] = True,
    require_better: Annotated[
        bool, typer.Option("--require-better", help="Exit with code 1 unless it is better.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdict as JSON.")] = False,
) -> None:
    """Compare a model with what is used now: better by so much, no difference, or worse.

    An embedder or reranker is compared by hybrid search (nDCG@10), an adapter by its answers. "No
    difference" is a result: the exit code is 0.
    """
    from ragkit.cli.render import print_json
    from ragkit.settings.settings import load_settings
    from ragkit_tune.proof.candidate import find_candidate
    from ragkit_tune.proof.measure import Proof
    from ragkit_tune.proof.prove import prove

    settings = load_settings()
    candidate = find_candidate(model, settings)
    proof = Proof(
        candidate,
        settings,
        questions=questions,
        collection=collection,
        guards=guard or (),
        handbook=handbook,
        progress=lambda stage: typer.echo(stage, err=True),
    )
    verdict = prove(proof)
    if as_json:
        print_json({"name": candidate.name, **verdict.as_json()})
    else:
        print_verdict(candidate.name, model, verdict, candidate.folder)
    if require_better and verdict.outcome != "better":
        raise typer.Exit(1)


def print_verdict(name: str, model: str, verdict: "Verdict", folder: Path) -> None:
    """Print a verdict with its figures; `model` is how the next command names the model."""
    from ragkit.text.printable import printable
    from ragkit_tune.proof.model_card import CARD, verdict_lines

    for line in verdict_lines(verdict):
        typer.echo(printable(line))
    typer.echo(printable(f"\n{name}: {verdict.sentence}."))
    if verdict.outcome == "better":
        typer.echo(printable(f"Use it: ragkit tune adopt {model}"))
    typer.echo(printable(f"All figures: {folder / CARD}"))
