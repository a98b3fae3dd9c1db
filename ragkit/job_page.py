"""A job report as one page of HTML: figures, a plot, a table of files. It loads nothing.

It knows nothing of where the figures come from.
"""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from ragkit.job_report import STAGES, JobReport

_WIDTH: Final = 720
_HEIGHT: Final = 160


def page(report: JobReport) -> str:
    """Write a report as HTML; everything that comes from documents is escaped."""
    from jinja2 import Environment

    template = files("ragkit").joinpath("job_page.html.jinja").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, trim_blocks=True)
    top = max((rate for _, rate in report.throughput), default=0.0)
    last = max((at for at, _ in report.throughput), default=0.0)
    points = [
        f"{50 + _WIDTH * at / last:.1f},{_HEIGHT - _HEIGHT * rate / top:.1f}"
        for at, rate in report.throughput
        if top and last
    ]
    return environment.from_string(template).render(
        report=report,
        stages=STAGES,
        done=sum(file.state == "done" for file in report.files),
        failed=sum(file.state == "failed" for file in report.files),
        chunks=sum(file.chunks for file in report.files),
        megabytes=sum(file.bytes for file in report.files) / 1e6,
        seconds={
            stage: sum(file.seconds.get(stage, 0.0) for file in report.files) for stage in STAGES
        },
        line=" ".join(points),
        top=top,
        last=last,
        width=_WIDTH,
        height=_HEIGHT,
    )
