"""Rates of errors, timeouts, empty outputs and truncated outputs of a run."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.errors import UsageError
from ragkit_eval.run.record import Record

# The messages of ragkit and of gateways: a record stores only the message.
_TIMEOUT = re.compile(
    r"gave no answer within|sent nothing for|took longer than|timed?[ -]?out", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of all items: each is 0 to 1, and lower is better.

    `error`: no response; `timeout`: errors by a timeout; `empty`: a response of only white space;
    `cut`: a response that reached the limit of tokens.
    """

    error: float
    timeout: float
    empty: float
    cut: float


def rates(records: Sequence[Record]) -> Rates:
    """Count how the items of a run ended. Raises UsageError without items."""
    if not records:
        raise UsageError("the run has no items: run at least one")
    failed = [record for record in records if record.status == "error"]
    ended = [record for record in records if record.status != "error"]
    return Rates(
        error=len(failed) / len(records),
        timeout=sum(bool(_TIMEOUT.search(record.error)) for record in failed) / len(records),
        empty=sum(not record.output.strip() for record in ended) / len(records),
        cut=sum(record.finish == "length" for record in ended) / len(records),
    )
