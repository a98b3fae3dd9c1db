"""What to do with a list of passages to write questions about: the command that comes next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from ragkit_tune.data.gather import DEFAULT_HOWS
from ragkit_tune.data.write import ASK


def beside_labelled(hows: Sequence[str] = ()) -> str:
    """Return the value of --how that has labelled questions beside all that there were.

    >>> beside_labelled(["labelled"])
    'labelled,headings,tables,numbers,definitions,cloze,feedback'
    """
    others = [how for how in hows if how != "labelled"] or DEFAULT_HOWS
    return ",".join(["labelled", *others])


def next_step(
    out: Path, options: Sequence[str], *, hows: Sequence[str], labelled: Path | None
) -> str:
    """Say what to do with the passages in `out`, with a command that begins with `options`.

    `hows` is how questions were made, and `labelled` the set that was given, into which the new
    questions go because a command takes one set.
    """
    add = f", add these lines to {labelled}" if labelled else ""
    names = (out.with_name(f"{out.name}-{n}") for n in count(2))
    command = [
        *("ragkit", "tune", "data", *options),
        *("--set", str(labelled or out / ASK)),
        *("--how", beside_labelled(hows)),
        *("--out", str(next(name for name in names if not name.exists()))),
    ]
    return (
        f"Write a question into as many lines of {out / ASK} as you can (lines without one are"
        f" passed over){add}, then run `{shlex.join(command)}`"
    )
