"""`ragkit eval judge-check`: whether a judge agrees with people well enough to decide anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ragkit_eval.judge.checking import Checked
    from ragkit_eval.judge.labelled import LabelledAnswer

_SHOWN = 3  # disagreements, and unreadable replies
_SHOWN_CHARS = 160


def judge_check(
    labelled: Annotated[
        Path,
        typer.Argument(
            help='JSON lines: {"question", "answer", "references" or "passages", "label": 0 to 1}.'
        ),
    ],
    judge: Annotated[str, typer.Option(help="llm, llm:faithfulness, or MODULE:ATTRIBUTE.")] = "llm",
    out: Annotated[Path | None, typer.Option(help="Write the result to this file, too.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how far a judge agrees with people, and keep the result for runs that use it."""
    from json import dumps

    from ragkit import render
    from ragkit.settings import load_settings
    from ragkit_eval.files import check_folder, write_whole
    from ragkit_eval.judge.certificate import certificate_json, keep
    from ragkit_eval.judge.checking import check_judge
    from ragkit_eval.judge.labelled import data_hash, read_labelled_answers
    from ragkit_eval.judge.opening import unmarked_judge

    if out is not None:
        check_folder(out)
    settings = load_settings()
    opened = unmarked_judge(judge, settings)
    answers = read_labelled_answers(labelled, opened.dimension)
    with _progress(2 * len(answers)) as progress:
        checked = check_judge(opened, answers, progress=progress)
    values = certificate_json(
        opened.signature,
        checked.agreement,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        data_name=labelled.name,
        data_hash=data_hash(answers),
    )
    kept = keep(values, settings.home)
    if out is not None:
        write_whole(out, dumps(values, ensure_ascii=False, indent=2) + "\n")
    if json:
        render.print_json(values | {"kept": str(kept), "failures": _failures(checked, answers)})
    else:
        _print(values, checked, answers)
        typer.echo(f"Kept in {render.printable(str(kept))}")


def _failures(checked: Checked, answers: Sequence[LabelledAnswer]) -> list[dict[str, str]]:
    from ragkit_eval.judge.bound import ParseFailure

    return [
        {"question": one.question, "why": said.why, "raw": said.raw}
        for one, said in zip(answers, checked.verdicts, strict=True)
        if isinstance(said, ParseFailure)
    ]


def _print(values: dict[str, Any], checked: Checked, answers: Sequence[LabelledAnswer]) -> None:
    from ragkit import render

    found = checked.agreement
    typer.echo(f"{render.printable(values['signature'])}")
    typer.echo(f"{found.items} answers, {found.right} labelled right, {found.clusters} groups\n")
    rows = [
        ["agrees on right or wrong", *_interval(found.accuracy)],
        ["kappa", *_interval(found.kappa)],
        ["AUC", *_interval(found.auc)],
        ["rank correlation with the labels", _number(found.spearman), ""],
        ["unreadable replies", *_interval(found.failures)],
        ["same verdict twice", *_interval(found.consistency)],
        ["length, rank correlation with too high a score", _number(found.length_bias), ""],
    ]
    render.print_table(["", "value", "95% interval"], rows, empty="")
    _print_examples(checked, answers)
    failed = [one for one in values["checks"] if not one["passed"]]
    typer.echo(f"\nUsable as a gate: {'yes' if values['usable'] else 'no'}")
    for one in failed:
        typer.echo(f"  {one['name']}: {_number(one['measured'])}, must be {one['wanted']}")


def _print_examples(checked: Checked, answers: Sequence[LabelledAnswer]) -> None:
    """Show where judge and people are furthest apart, and what could not be read."""
    from ragkit_eval.judge.bound import ParseFailure
    from ragkit_eval.judge.judge import Verdict

    pairs = list(zip(answers, checked.verdicts, strict=True))
    apart = [(one, said) for one, said in pairs if isinstance(said, Verdict)]
    apart = [(one, said) for one, said in apart if abs(said.score - one.label) >= 0.5]
    apart.sort(key=lambda pair: -abs(pair[1].score - pair[0].label))
    if apart:
        typer.echo(f"\n{len(apart)} answers are judged otherwise by half or more, such as")
    for one, said in apart[:_SHOWN]:
        typer.echo(f"  {_short(one.question)}\n    answer: {_short(one.answer)}")
        typer.echo(f"    people {one.label:g}, judge {said.score:g}: {_short(said.reason)}")
    unread = [(one, said) for one, said in pairs if isinstance(said, ParseFailure)]
    if unread:
        typer.echo(f"\n{len(unread)} replies could not be read, such as")
    for one, failure in unread[:_SHOWN]:
        typer.echo(f"  {_short(one.question)}\n    {_short(failure.why)}: {_short(failure.raw)}")


def _interval(interval: Any) -> tuple[str, str]:
    if interval is None:
        return "not defined", ""
    return f"{interval.mean:.3f}", f"{interval.low:.3f} to {interval.high:.3f}"


def _number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.4g}"


def _short(text: str) -> str:
    from ragkit.render import printable

    shown = printable(" ".join(text.split()))
    return shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 1] + "…"


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int], None]]:
    """Show a bar on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("Judging", total=total)
        yield lambda done: bar.update(task, completed=done)
