"""Faults of rows that would spoil a run in silence: each is named with its row, and ends the run.

`ragkit tune data` looks for the same when it makes rows; here they are looked for in what is in
fact trained, with the prefixes and the length of the job.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from job import StopError  # type: ignore[import-not-found]  # beside this script
from pair_batches import positives_of  # type: ignore[import-not-found]

# Of the rows with a passage that is cut; arbitrary, the share that `ragkit tune data` allows.
MAX_CUT: Final = 0.1
_IDS: Final = 8  # that a message names
_ROUND: Final = 32  # a remedy names a multiple of so many tokens; arbitrary

Row = dict[str, Any]


def check_pairs(train: Sequence[Row], dev: Sequence[Row]) -> None:
    """Raise StopError for blank rows, rows twice, false negatives, and dev queries in train."""
    for row in (*train, *dev):
        if not row["query"].strip() or not row["positive"].strip():
            raise StopError(f"row {row['id']} is blank: remove it, or make the rows anew")
    shared = {row["query"] for row in train} & {row["query"] for row in dev}
    if shared:
        raise StopError(
            f"{len(shared)} queries are in both train and dev, such as {min(shared)[:60]!r}: make"
            " the rows anew"
        )
    counts: dict[tuple[str, str], Row] = {}
    for row in train:
        first = counts.setdefault((row["query"], row["positive"]), row)
        if first is not row:
            raise StopError(
                f"rows {first['id']} and {row['id']} are the same: remove one, or make the rows"
                " anew"
            )
    positives = positives_of(train)
    for row in train:
        if not positives[row["query"]].isdisjoint(row["negatives"]):
            raise StopError(
                f"row {row['id']} has a negative that answers its query in another row: remove it,"
                " or make the rows anew"
            )


def check_prefixes(rows: Sequence[Row], prefixes: dict[str, str]) -> None:
    """Raise StopError for texts that begin with a prefix, which would be put before them twice."""
    texts = {"query": ("query",), "passage": ("positive",)}
    for name, fields in texts.items():
        prefix = prefixes[name].strip()
        if not prefix:
            continue
        rows_with = [
            row["id"] for row in rows for field in fields if row[field].lstrip().startswith(prefix)
        ]
        if rows_with:
            raise StopError(
                f"{len(rows_with)} rows begin with the prefix {prefix!r} that the model puts before"
                f" them ({named(rows_with)}): remove it there"
            )


def check_lengths(
    rows: Sequence[Row],
    count: Callable[[Row], int],
    limit: int,
    tell: Callable[[str], None],
    *,
    own: int,
) -> None:
    """Tell which rows are longer than the limit in tokens; raise StopError for a tenth of them.

    `own` is what the model itself reads: where it is the limit the rows are cut, as passages in
    use are, and nothing is refused.
    """
    lengths = {str(row["id"]): length for row in rows if (length := count(row)) > limit}
    if not lengths:
        return
    names = named(list(lengths))
    share = f"{len(lengths)} of {len(rows)}"
    if limit >= own:
        tell(
            f"{share} rows are longer than the {limit} tokens that the model reads, and are cut as"
            f" it cuts passages in use ({names})"
        )
        return
    allowed = int(MAX_CUT * len(rows))
    if len(lengths) > allowed:
        longest = sorted(lengths.values(), reverse=True)[allowed]
        raise StopError(
            f"{share} rows are longer than {limit} tokens, and would be trained without their end"
            f" ({names}): set -o max_tokens={min(own, _ROUND * -(-longest // _ROUND))}, or make the"
            f" rows anew with --max-tokens {limit}"
        )
    tell(f"{share} rows are longer than {limit} tokens and are cut ({names})")


def named(ids: Sequence[str]) -> str:
    """Name rows, the first eight of them."""
    more = f" and {len(ids) - _IDS} more" if len(ids) > _IDS else ""
    return f"rows {', '.join(map(str, ids[:_IDS]))}{more}"
