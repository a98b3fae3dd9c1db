"""How often items of a run end in an error, a timeout, an empty output or a cut one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragkit.errors import UsageError
from ragkit_eval.record import Record

# As ragkit's own errors and servers' gateways say it; a record keeps nothing but the words.
_TIMEOUT = re.compile(
    r"gave no answer within|sent nothing for|took longer than|timed?[ -]?out", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of all items: each is 0 to 1, and lower is better.

    `error` ended without a response, `timeout` are those among them that waited in vain. `empty`
    responded with nothing but white space, and `cut` reached the limit of tokens.
    """

    error: float
    timeout: float
    empty: float
    cut: float


def rates(records: Sequence[Record]) -> Rates:
    """Count how the items of a run ended. Raises UsageError where there is none."""
    if not records:
        raise UsageError("no items, so no rates: run at least one")
    failed = [record for record in records if record.status == "error"]
    ended = [record for record in records if record.status != "error"]
    return Rates(
        error=len(failed) / len(records),
        timeout=sum(bool(_TIMEOUT.search(one.error)) for one in failed) / len(records),
        empty=sum(not one.output.strip() for one in ended) / len(records),
        cut=sum(one.finish == "length" for one in ended) / len(records),
    )
