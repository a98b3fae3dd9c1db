"""`ragkit worker`: the ingestion worker as a process, a line on stderr for all that it does."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ragkit.cli.words import say

if TYPE_CHECKING:
    from ragkit_ingest.worker.worker import Done


_ENDED = "ragkit: the worker ended during its work, which is free for other workers"


def worker(
    until_empty: Annotated[
        bool, typer.Option("--until-empty", help="Stop when the queue is empty.")
    ] = False,
) -> None:
    """Read uploaded files and files queued by `ragkit ingest --queue`, until it is stopped.

    You can run several workers at once, also on other machines that can read the same files.
    Ctrl-C or SIGTERM stops a worker within two seconds; unfinished files go back to the queue.
    With --until-empty, exit code 3 means that some files failed or are left to other workers.
    """
    import logging

    from ragkit.settings.settings import load_settings
    from ragkit.system import logs
    from ragkit.system.ending import bounded_ending
    from ragkit.system.priority import give_way
    from ragkit_ingest.worker.worker import work

    give_way()  # to the processes that answer
    logs.configure()
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # what it warns of is said by ours
    with bounded_ending(_ENDED, code=0):
        try:
            done = work(load_settings(), until_empty=until_empty)
            raise SystemExit(3 if _tell(done) else 0)
        except SystemExit as ending:
            # An embedding that goes on in a thread would abort the interpreter's own end; what was
            # to be given back and closed is.
            logging.shutdown()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(int(ending.code or 0))


def _tell(done: Done) -> bool:
    """Say what was done with what was queued; return whether something is amiss."""
    added, updated, unchanged, failed = (
        sum(getattr(report, name) for report in done.reports)
        for name in ("added", "updated", "unchanged", "failed")
    )
    text = "{added} added, {updated} updated, {unchanged} unchanged, {failed} failed."
    numbers = {"added": added, "updated": updated, "unchanged": unchanged, "failed": failed}
    line = say(text, **numbers)
    if done.left:
        line += say(" Left to workers that can read the files: {number}.", number=done.left)
    typer.echo(line)
    return bool(failed or done.left)
