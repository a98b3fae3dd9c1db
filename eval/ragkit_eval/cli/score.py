"""`ragkit eval score`: score predictions and retrieval runs of other programs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.text.printable import printable

if TYPE_CHECKING:
    from ragkit_eval.score.score import ScoredSet

DEFAULT_METRIC = "reference_recall"
DEFAULT_MEASURES = ("ndcg@10", "map", "recall@10")


def _list_metrics(requested: bool) -> None:
    if not requested:
        return
    from ragkit_eval.metrics.registry import names, options
    from ragkit_eval.retrieval import MEASURES

    typer.echo("Of texts, options after a colon (rouge-N, rouge-sN, rouge-suN for other numbers):")
    for name in names():
        typer.echo(f"  {name}".ljust(20) + ", ".join(options(name)))
    typer.echo("\nOf retrieval runs, with --qrels, most with a depth as in ndcg@10:")
    typer.echo("  " + ", ".join(MEASURES))
    raise typer.Exit


def score(
    predictions: Annotated[
        Path,
        typer.Argument(
            help="JSON lines, .csv or .tsv with predictions; with --qrels a TREC run.",
        ),
    ],
    references: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="File with the references, if they are not in the same file."
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            "--metric",
            "-m",
            metavar="NAME",
            help="Metric to compute; --list shows them (repeatable).",
        ),
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with judgements, to score a TREC run."),
    ] = None,
    all_judged: Annotated[
        bool, typer.Option("--all-judged", help="Count judged queries that the run lacks as 0.")
    ] = False,
    count_empty: Annotated[
        bool,
        typer.Option(
            "--count-empty",
            help="Count queries without a relevant document as 0, as trec_eval's 'all' does.",
        ),
    ] = False,
    id_field: Annotated[str, typer.Option(metavar="FIELD", help="Field with the ids.")] = "id",
    prediction_field: Annotated[
        str, typer.Option(metavar="FIELD", help="Field with the predictions.")
    ] = "prediction",
    reference_field: Annotated[
        str,
        typer.Option(
            metavar="FIELD",
            help="Field with the references (default: references, reference or answers).",
        ),
    ] = "",
    items: Annotated[bool, typer.Option("--items", help="Print the scores of each item.")] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="RUN.jsonl", help="Write a run file for compare, gate and report."),
    ] = None,
    task: Annotated[str, typer.Option(help="Name of the set in the run file.")] = "score",
    name: Annotated[
        str,
        typer.Option(help="Name of the system that made the predictions (default: the file name)."),
    ] = "",
    list_metrics: Annotated[
        bool,
        typer.Option(
            "--list",
            is_eager=True,
            callback=_list_metrics,
            help="List the metrics and their options.",
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON with the scores of each item.")
    ] = False,
) -> None:
    """Score predictions against references, or a retrieval run against judgements.

    Options of a metric follow its name after colons: rouge-1:stem, token_f1:cmrc. BLEU,
    chrF and TER are computed over the entire set; every other score is the mean of the items.
    """
    from ragkit.cli import render
    from ragkit_eval.run.files import write_whole
    from ragkit_eval.score.score import run_lines

    trec = {"--all-judged": all_judged, "--count-empty": count_empty}
    _check_options(out, (predictions, references, qrels), trec)
    scored = (
        _score_retrieval(predictions, qrels, metric, all_judged=all_judged, count_empty=count_empty)
        if qrels is not None
        else _score_texts(
            predictions, references, metric, (id_field, prediction_field, reference_field)
        )
    )
    if out is not None:
        method = "generate" if qrels is None else "rag"
        text = run_lines(scored, task=task, method=method, name=name or predictions.stem)
        write_whole(out, text)
    if as_json:
        render.print_json(_make_json(scored))
    else:
        _print(scored, items=items)


def _check_options(
    out: Path | None, inputs: tuple[Path, Path | None, Path | None], trec: Mapping[str, bool]
) -> None:
    """Raise BadParameter for options that contradict each other."""
    from ragkit_eval.run.files import check_folder

    _, references, qrels = inputs
    if out is not None:
        check_folder(out)
        if out.resolve() in [path.resolve() for path in inputs if path]:
            raise typer.BadParameter(f"--out {out} is one of the inputs: name another file")
    if qrels is not None and references is not None:
        raise typer.BadParameter("--qrels and --references do not go together: give one")
    for option, given in trec.items():
        if qrels is None and given:
            raise typer.BadParameter(f"{option} goes with --qrels")


def _score_texts(
    predictions: Path, references: Path | None, metric: list[str] | None, names: tuple[str, ...]
) -> ScoredSet:
    from ragkit_eval.metrics.registry import text_metric
    from ragkit_eval.score.predictions import REFERENCES, Fields, read_predictions
    from ragkit_eval.score.score import score_texts

    metrics = [text_metric(spec) for spec in dict.fromkeys(metric or [DEFAULT_METRIC])]
    id_field, prediction_field, reference_field = names
    references_fields = (reference_field,) if reference_field else REFERENCES
    fields = Fields(id_field, prediction_field, references_fields)
    return score_texts(read_predictions(predictions, references, fields=fields), metrics)


def _score_retrieval(
    run: Path, qrels: Path, metric: list[str] | None, *, all_judged: bool, count_empty: bool
) -> ScoredSet:
    from ragkit_eval.retrieval import read_qrels, read_trec_run
    from ragkit_eval.score.score import score_retrieval

    names = list(dict.fromkeys(metric or DEFAULT_MEASURES))
    return score_retrieval(
        read_qrels(qrels),
        read_trec_run(run),
        names,
        all_judged=all_judged,
        count_empty=count_empty,
    )


def _make_json(scored: ScoredSet) -> dict[str, Any]:
    return {
        "items": len(scored.items),
        "left_out": list(scored.left_out),
        "metrics": {
            name: {
                "value": round(score.value, 6),
                "interval": [round(score.low, 6), round(score.high, 6)],
                "signature": score.used or score.signature,
                **score.detail,
            }
            for name, score in scored.scores.items()
        },
        "scores": [
            {"id": item.id, **{name: round(value, 6) for name, value in values.items()}}
            for item, values in zip(scored.items, scored.values, strict=True)
        ],
    }


def _print(scored: ScoredSet, *, items: bool) -> None:
    from ragkit.cli import render

    names = list(scored.scores)
    if items:
        rows = [
            [printable(item.id), *(f"{values[name]:.4f}" for name in names)]
            for item, values in zip(scored.items, scored.values, strict=True)
        ]
        render.print_table(["item", *names], rows, empty="")
        typer.echo()
    table = [
        [
            name,
            f"{score.value:.4f}",
            f"{score.low:.4f} to {score.high:.4f}",
            str(len(scored.items)),
        ]
        for name, score in scored.scores.items()
    ]
    render.print_table(["metric", "score", "95% interval", "items"], table, empty="")
    _print_parts(scored)
    typer.echo("\nSignatures:")
    for score in scored.scores.values():
        typer.echo(f"  {score.used or score.signature}")
    if scored.left_out:
        examples = ", ".join(map(printable, scored.left_out[:5]))
        ellipsis = ", ..." if len(scored.left_out) > 5 else ""
        typer.echo(
            "Queries left out, as none of their documents is judged relevant or none was retrieved:"
            f" {len(scored.left_out)} ({examples}{ellipsis})"
        )


def _print_parts(scored: ScoredSet) -> None:
    """Print the parts of each BLEU score, and TER as others print it."""
    for name, score in scored.scores.items():
        if "precisions" in score.detail:
            precisions = " ".join(f"{precision:.4f}" for precision in score.detail["precisions"])
            penalty = score.detail["brevity_penalty"]
            typer.echo(
                f"{name}: 1- to 4-gram precisions {precisions}, brevity penalty {penalty:.4f}"
            )
        if "ter" in score.detail:
            typer.echo(f"{name}: TER {score.detail['ter']:.4f}, lower is better")
