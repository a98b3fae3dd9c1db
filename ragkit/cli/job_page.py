"""A job report as one page of HTML: figures, a plot, tables of files. It loads nothing."""

from __future__ import annotations

import math
import os.path
import re
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ragkit.cli.job_report import STAGES, JobReport

if TYPE_CHECKING:
    from ragkit.cli.job_report import FileFigures

_WIDTH: Final = 800  # of the plot's bars, and their height; arbitrary, in units of the picture
_HEIGHT: Final = 160
_LEFT: Final = 80
_TICKS: Final = 4
# What a run counts besides the files that it worked on, as `ragkit ingest --json` has them.
_COUNTS: Final = ("unchanged", "copies", "deleted", "lost")
# Control characters, and those that turn the direction of writing, which make fdp.exe exe.pdf.
_UNSEEN: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def page(report: JobReport) -> str:
    """Write a report as HTML; everything that comes from documents is escaped."""
    from jinja2 import Environment

    template = files("ragkit.cli").joinpath("job_page.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True)
    environment.filters["shown"] = _printable
    top = _round_up(max((rate for _, rate in report.throughput), default=0.0))
    return environment.from_string(template).render(
        report=report,
        stages=STAGES,
        sums=list(_sums(report)),
        spent=[
            (stage, sum(file.seconds.get(stage, 0.0) for file in report.files)) for stage in STAGES
        ],
        hosts=sorted({file.host for file in report.files if file.host}),
        skipped_files=report.figures.get("skipped_files", []),
        failed=[file for file in report.files if file.state == "failed"],
        folder=_folder(report.files),
        bars=list(_bars(report.throughput, top)),
        grid=[
            (round(_HEIGHT * (1 - n / _TICKS), 1), f"{top * n / _TICKS:g}")
            for n in range(_TICKS + 1)
        ],
        times=list(_times(report.throughput)),
        top=f"{top:g}",
        width=_WIDTH,
        height=_HEIGHT,
        left=_LEFT,
    )


def _printable(text: str) -> str:
    return _UNSEEN.sub("\ufffd", text)


def _sums(report: JobReport) -> Iterator[tuple[str, str]]:
    """Yield what stands at the head: name, value."""
    states = [file.state for file in report.files]
    yield "files", str(len(states))
    for state in dict.fromkeys(("done", "failed", *sorted(states))):
        yield state, str(states.count(state))
    counts = report.figures.get("documents", {})
    yield from ((name, str(counts[name])) for name in _COUNTS if counts.get(name))
    if report.figures.get("skipped"):
        yield "skipped", str(report.figures["skipped"])
    yield "chunks", str(sum(file.chunks for file in report.files))
    yield "MB", f"{sum(file.bytes for file in report.files) / 1e6:.2f}"
    yield "masked", str(sum(file.masked for file in report.files))


def _folder(listed: Sequence[FileFigures]) -> str:
    """Return the folder that all files lie in, to be said once; nothing where there is none."""
    common = os.path.commonprefix([file.uri for file in listed])  # noqa: RUF071  cut at a slash
    return common[: common.rfind("/") + 1]


def _bars(
    throughput: Sequence[tuple[float, float]], top: float
) -> Iterator[tuple[float, float, float, float]]:
    """Yield where the bars stand: x, y, width, height."""
    wide = _WIDTH / max(len(throughput), 1)
    for n, (_, rate) in enumerate(throughput):
        if rate:
            high = _HEIGHT * rate / top
            yield (
                round(_LEFT + n * wide, 1),
                round(_HEIGHT - high, 1),
                round(wide, 1),
                round(high, 1),
            )


def _times(throughput: Sequence[tuple[float, float]]) -> Iterator[tuple[float, str]]:
    last = max((at for at, _ in throughput), default=0.0)
    for n in range(_TICKS + 1):
        yield _LEFT + _WIDTH * n / _TICKS, f"{last * n / _TICKS:.3g} s"


def _round_up(value: float) -> float:
    """Return 1, 2, 4, 6 or 8 times a power of ten that is not less, so that quarters are short.

    >>> _round_up(37.0), _round_up(0.3), _round_up(900.0)
    (40.0, 0.4, 1000.0)
    """
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(float(f"{n * power:.6g}") for n in (1, 2, 4, 6, 8, 10, 20) if n * power >= value)
