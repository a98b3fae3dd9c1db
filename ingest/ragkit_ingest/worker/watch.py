"""Going on for good: what changes in the watched places is taken in a few seconds later.

It looks again and again, which works on every file system and every kind of place. It knows nothing
of what a look does.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragkit_ingest.run.report import Failure, IngestReport


def watched(
    look: Callable[[], IngestReport],
    tell: Callable[[IngestReport], None],
    *,
    every_s: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Look every few seconds, and tell of each look that found something; never comes back.

    What fails again in the same way is told of once.
    """
    told: tuple[Failure, ...] | None = None
    while True:
        report = look()
        if report.has_changed or report.failures != told:
            tell(report)
        told = report.failures
        sleep(every_s)
