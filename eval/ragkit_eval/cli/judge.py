"""`ragkit eval judge-check`: measure a judge's agreement with people."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ragkit.text.printable import printable
from ragkit_eval.cli.options import JsonOption
from ragkit_eval.cli.output import progress_bar, shorten

if TYPE_CHECKING:
    from ragkit_eval.judge.check_judge import Checked
    from ragkit_eval.judge.labelled import LabelledAnswer

_EXAMPLES = 3  # of disagreements, and of unreadable replies


def judge_check(
    labelled: Annotated[
        Path,
        typer.Argument(
            help='JSON lines: {"question", "answer", "references" or "passages", "label": 0 to 1}.'
        ),
    ],
    judge: Annotated[
        str, typer.Option(help="llm, llm:faithfulness, llm:quality, or MODULE:ATTRIBUTE.")
    ] = "llm",
    out: Annotated[Path | None, typer.Option(help="Write the result to this file, too.")] = None,
    json: JsonOption = False,
) -> None:
    """Measure how far a judge agrees with people, and store the result for runs that use it."""
    from json import dumps

    from ragkit.cli import render
    from ragkit.settings.settings import load_settings
    from ragkit_eval.judge.certificate import certificate_json, keep
    from ragkit_eval.judge.check_judge import check_judge
    from ragkit_eval.judge.judge_by_name import unmarked_judge
    from ragkit_eval.judge.labelled import data_hash, read_labelled_answers
    from ragkit_eval.run.files import check_folder, write_whole

    if out is not None:
        check_folder(out)
    settings = load_settings()
    opened = unmarked_judge(judge, settings)
    answers = read_labelled_answers(labelled, opened.dimension)
    with progress_bar("Judging", 2 * len(answers)) as progress:
        checked = check_judge(opened, answers, progress=progress)
    values = certificate_json(
        opened.signature,
        checked.agreement,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        data_name=labelled.name,
        data_hash=data_hash(answers),
    )
    path = keep(values, settings.home)
    if out is not None:
        write_whole(out, dumps(values, ensure_ascii=False, indent=2) + "\n")
    if json:
        render.print_json(
            values | {"kept": str(path), "failures": _list_failures(checked, answers)}
        )
    else:
        _print(values, checked, answers)
        typer.echo(f"Kept in {printable(str(path))}")


def _list_failures(checked: Checked, answers: Sequence[LabelledAnswer]) -> list[dict[str, str]]:
    from ragkit_eval.judge.schema_reply import ParseFailure

    return [
        {"question": answer.question, "why": reply.why, "raw": reply.raw}
        for answer, reply in zip(answers, checked.verdicts, strict=True)
        if isinstance(reply, ParseFailure)
    ]


def _print(values: dict[str, Any], checked: Checked, answers: Sequence[LabelledAnswer]) -> None:
    from ragkit.cli import render

    agreement = checked.agreement
    typer.echo(f"{printable(values['signature'])}")
    typer.echo(
        f"{agreement.items} answers, {agreement.right} labelled right,"
        f" {agreement.clusters} groups\n"
    )
    rows = [
        ["agrees on right or wrong", *_format_interval(agreement.accuracy)],
        ["kappa", *_format_interval(agreement.kappa)],
        ["AUC", *_format_interval(agreement.auc)],
        ["rank correlation with the labels", _format_number(agreement.spearman), ""],
        ["unreadable replies", *_format_interval(agreement.failures)],
        ["same verdict twice", *_format_interval(agreement.consistency)],
        [
            "length, rank correlation with too high a score",
            _format_number(agreement.length_bias),
            "",
        ],
    ]
    render.print_table(["", "value", "95% interval"], rows, empty="")
    _print_examples(checked, answers)
    failed = [check for check in values["checks"] if not check["passed"]]
    typer.echo(f"\nUsable as a gate: {'yes' if values['usable'] else 'no'}")
    for check in failed:
        typer.echo(
            f"  {check['name']}: {_format_number(check['measured'])}, must be {check['wanted']}"
        )


def _print_examples(checked: Checked, answers: Sequence[LabelledAnswer]) -> None:
    """Print the largest disagreements of judge and people, and the unreadable replies."""
    from ragkit_eval.judge.judge import Verdict
    from ragkit_eval.judge.schema_reply import ParseFailure

    pairs = list(zip(answers, checked.verdicts, strict=True))
    disagreements = [(answer, reply) for answer, reply in pairs if isinstance(reply, Verdict)]
    disagreements = [
        (answer, reply) for answer, reply in disagreements if abs(reply.score - answer.label) >= 0.5
    ]
    disagreements.sort(key=lambda pair: -abs(pair[1].score - pair[0].label))
    if disagreements:
        typer.echo(f"\n{len(disagreements)} answers are judged otherwise by half or more, such as")
    for answer, reply in disagreements[:_EXAMPLES]:
        typer.echo(f"  {shorten(answer.question)}\n    answer: {shorten(answer.answer)}")
        typer.echo(f"    people {answer.label:g}, judge {reply.score:g}: {shorten(reply.reason)}")
    unread = [(answer, reply) for answer, reply in pairs if isinstance(reply, ParseFailure)]
    if unread:
        typer.echo(f"\n{len(unread)} replies could not be read, such as")
    for answer, failure in unread[:_EXAMPLES]:
        typer.echo(
            f"  {shorten(answer.question)}\n    {shorten(failure.why)}: {shorten(failure.raw)}"
        )


def _format_interval(interval: Any) -> tuple[str, str]:
    if interval is None:
        return "not defined", ""
    return f"{interval.mean:.3f}", f"{interval.low:.3f} to {interval.high:.3f}"


def _format_number(value: float | None) -> str:
    return "not defined" if value is None else f"{value:.4g}"
