"""`ragkit eval calibrate`: fit the cut-off of refusals, show it, or reset it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.types import Mode

if TYPE_CHECKING:
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.store.people.calibration import Calibration, Calibrations
    from ragkit.store.vectors.active_space import KeptSpace
    from ragkit.upkeep.calibrate import Fit, Point


def calibrate(
    labelled: Annotated[
        Path | None,
        typer.Argument(
            help='JSON lines: {"question": ..., "answerable": true}, or with "answers": [...].'
        ),
    ] = None,
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", help="Collection to calibrate.")
    ] = None,
    mode: Annotated[Mode, typer.Option(help="Search mode to calibrate.")] = "hybrid",
    max_false_refusals: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Largest share of answerable questions that may be refused."
        ),
    ] = 0.05,
    cutoff: Annotated[
        float | None, typer.Option(min=0, max=1, help="Set this cut-off instead of fitting one.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the result without saving it.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to this file.")] = None,
    show: Annotated[bool, typer.Option("--show", help="Show the stored cut-offs.")] = False,
    reset: Annotated[bool, typer.Option("--reset", help="Delete the stored cut-offs.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit when to refuse, from labelled questions, for this collection and embedding model."""
    if (labelled is not None) + show + reset != 1:
        raise typer.BadParameter("give one: a file of labelled questions, or --show, or --reset")
    from ragkit.cli import render
    from ragkit.knowledge.base import KnowledgeBase
    from ragkit.settings.settings import load_settings
    from ragkit.store.people.calibration import Calibrations
    from ragkit.upkeep.calibrate import calibration, fit, language_note, read_labelled

    settings = load_settings()
    with KnowledgeBase.open(settings, collection=collection) as kb:
        assert kb.database is not None
        calibrations = Calibrations(kb.database.pool, settings.tenant)
        if show:
            spaces = kb.database.store(settings.tenant).spaces.of(kb.collection)
            _show(kb, calibrations.of(kb.collection), spaces, json=json)
            return
        if labelled is None:
            _reset(kb, calibrations, json=json)
            return
        questions = read_labelled(labelled)
        if note := language_note(kb, questions, mode):
            typer.echo(f"ragkit: note: {note}", err=True)
        with _progress(len(questions)) as progress:
            fitted = fit(
                kb,
                questions,
                mode=mode,
                max_false_refusals=max_false_refusals,
                cutoff=cutoff,
                progress=progress,
            )
        if plot is not None:
            _draw(fitted, plot)
        if not dry_run:
            calibrations.save(kb.collection, calibration(kb, fitted, questions, mode))
    if json:
        render.print_json(_fit_json(fitted) | {"collection": kb.collection, "kept": not dry_run})
    else:
        _print_fit(fitted, kb.collection, stored=not dry_run)


def _show(
    kb: KnowledgeBase,
    calibrations: Sequence[Calibration],
    spaces: Sequence[KeptSpace],
    *,
    json: bool,
) -> None:
    from ragkit.cli import render
    from ragkit.upkeep.calibrate import chunks_in

    chunks = chunks_in(kb)
    if json:
        rows = [_calibration_json(kb, calibration) for calibration in calibrations]
        render.print_json({"collection": kb.collection, "chunks": chunks, "calibrations": rows})
        return
    names = {kept.space: kept.name for kept in spaces}
    table = [
        [
            calibration.mode,
            names.get(space, space.model) if (space := calibration.space) else "words alone",
            calibration.reranker or "none",
            f"{calibration.cutoff.threshold:.3f}",
            f"{calibration.answerable} + {calibration.unanswerable}",
            f"{calibration.auc:.3f}",
            f"{calibration.fitted_at:%Y-%m-%d}",
            f"{calibration.chunks}, now {chunks}",
            "in use"
            if _is_current(kb, calibration)
            else "not used: fitted with another model or reranker",
        ]
        for calibration in calibrations
    ]
    columns = ["mode", "model", "reranker", "cut-off", "questions", "AUC", "fitted", "passages", ""]
    empty = f"Nothing is fitted for collection {kb.collection!r}."
    render.print_table(columns, table, empty=empty)


def _reset(kb: KnowledgeBase, calibrations: Calibrations, *, json: bool) -> None:
    from ragkit.cli import render

    forgotten = calibrations.reset(kb.collection)
    if json:
        render.print_json({"collection": kb.collection, "forgotten": forgotten})
    else:
        typer.echo(f"Forgot {forgotten} cut-offs of collection {kb.collection!r}.")


def _is_current(kb: KnowledgeBase, calibration: Calibration) -> bool:
    from ragkit.store.people.calibration import name_of, space_of

    return calibration.fits(space_of(kb.embedder, calibration.mode), name_of(kb.reranker))


def _calibration_json(kb: KnowledgeBase, calibration: Calibration) -> dict[str, Any]:
    return asdict(calibration) | {
        "fitted_at": calibration.fitted_at.isoformat() if calibration.fitted_at else None,
        "in_use": _is_current(kb, calibration),
    }


def _fit_json(fitted: Fit) -> dict[str, Any]:
    chosen = fitted.at(fitted.cutoff.threshold)
    return {
        "cutoff": _rounded(chosen),
        "least_rerank_score": _finite(fitted.cutoff.least),
        "auc": [round(value, 4) for value in (fitted.auc, fitted.auc_low, fitted.auc_high)],
        "answerable": sum(fitted.answerable),
        "unanswerable": len(fitted.answerable) - sum(fitted.answerable),
        "curve": [_rounded(point) for point in fitted.curve()],
        "before": {
            name: value for name, value in _rounded(fitted.before).items() if name != "cutoff"
        },
    }


def _finite(score: float | None) -> float | None:
    return None if score is None or not isfinite(score) else round(score, 6)


def _rounded(point: Point) -> dict[str, float]:
    return {name: round(value, 4) for name, value in asdict(point).items()}


def _print_fit(fitted: Fit, collection: str, *, stored: bool) -> None:
    from ragkit.cli import render

    answerable = sum(fitted.answerable)
    typer.echo(
        f"{answerable} answerable and {len(fitted.answerable) - answerable} unanswerable questions;"
        f" each scored by a fit that did not see it.\nArea under the curve {fitted.auc:.3f}"
        f" (95% interval {fitted.auc_low:.3f} to {fitted.auc_high:.3f}).\n"
    )
    chosen = fitted.at(fitted.cutoff.threshold)
    rows = [["without", *_shares(fitted.before)]]
    rows += [[f"{point.cutoff:.3f}", *_shares(point)] for point in fitted.curve()]
    rows += [[f"{chosen.cutoff:.3f} (chosen)", *_shares(chosen)]]
    render.print_table(
        ["cut-off", "answerable, refused", "unanswerable, let through"], rows, empty=""
    )
    least = fitted.cutoff.least
    if least is not None:
        typer.echo(f"\nPassages that the reranker scores below {least:.4g} are dropped.")
    done = "From now on it decides here" if stored else "Nothing was kept"
    typer.echo(f"\n{done}: collection {collection!r}.")


def _shares(point: Point) -> list[str]:
    return [f"{point.false_refusals:.1%}", f"{point.false_answers:.1%}"]


def _draw(fitted: Fit, path: Path) -> None:
    """Draw the whole curve with the chosen point."""
    from ragkit.errors import UsageError

    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise UsageError("--plot needs matplotlib: pip install 'ragkit[plot]'") from error
    points = [fitted.at(cutoff) for cutoff in sorted({0.0, *fitted.scores, 1.0})]
    chosen = fitted.at(fitted.cutoff.threshold)
    figure = Figure(figsize=(5, 5), layout="constrained")
    axes = figure.subplots()
    axes.step([point.false_refusals for point in points], [point.false_answers for point in points])
    axes.plot(chosen.false_refusals, chosen.false_answers, "o", label=f"{chosen.cutoff:.3f}")
    axes.plot(fitted.before.false_refusals, fitted.before.false_answers, "x", label="without")
    axes.set(xlabel="answerable questions refused", ylabel="unanswerable questions let through")
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.legend(title="cut-off")
    try:
        figure.savefig(path)
    except (OSError, ValueError) as error:
        raise UsageError(f"the plot cannot be written to {path}: {error}") from error


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("Searching", total=total)
        yield lambda done: bar.update(task, completed=done)
