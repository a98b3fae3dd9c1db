"""A parser process that misbehaves as a file's suffix says, for the tests of the pool."""

import os
import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from ragkit.types import ParsedText
from ragkit_ingest.parse.options import ParseOptions
from ragkit_ingest.parser.worker import serve
from tests.ingest.misdeeds import MISDEEDS

KEPT: list[bytearray] = []


def parse(data: bytes, suffix: str, options: ParseOptions) -> ParsedText:
    """Do what the suffix names; ".txt" gives the process's id, its group and the budget."""
    made = MISDEEDS[suffix[1:]]() if suffix[1:] in MISDEEDS else None
    if isinstance(made, ParsedText):
        return made
    if suffix == ".grown":
        KEPT.append(bytearray(b"x") * (256 << 20))
    if suffix == ".core":
        return ParsedText(str(resource.getrlimit(resource.RLIMIT_CORE)))
    return ParsedText(f"{os.getpid()} {os.getpgrp()} {options.unzipped_bytes}", title=data.decode())


if __name__ == "__main__":
    memory_mb, cpu_s = map(int, sys.argv[1:])
    serve(parse, memory_mb=memory_mb, cpu_s=cpu_s)
