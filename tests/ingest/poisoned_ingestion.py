"""`ragkit` with parser processes that misbehave where a text asks for it: "misbehave: hang".

Run with "parse" it is such a process, with anything else it is the command, which says at its end
how much memory it had at most. All but the parser is the product's own.
"""

import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from ragkit.types import ParsedText
from ragkit_ingest.parse import parse_bytes
from ragkit_ingest.parse.options import ParseOptions
from tests.ingest.misdeeds import MISDEEDS

ASKED = b"misbehave: "
PEAK = "peak memory in kB:"
FILE = str(Path(__file__).resolve())


def parse(data: bytes, suffix: str, options: ParseOptions) -> ParsedText:
    """Parse a file, or do what it asks for."""
    if data.startswith(ASKED):
        made = MISDEEDS[data.removeprefix(ASKED).decode().strip()]()
        if isinstance(made, ParsedText):
            return made
    return parse_bytes(data, suffix, options)


def main() -> None:
    if sys.argv[1] == "parse":
        from ragkit_ingest.parser.worker import serve

        memory_mb, cpu_s = map(int, sys.argv[2:])
        serve(parse, memory_mb=memory_mb, cpu_s=cpu_s)
        return
    from ragkit.cli.main import main as command
    from ragkit_ingest.executor import pipeline
    from ragkit_ingest.parser.pool import ParserPool

    poisoned = partial(ParserPool, command=(sys.executable, "-P", FILE, "parse"))
    setattr(pipeline, "ParserPool", poisoned)  # noqa: B010  mypy has it that it is a class
    try:
        command()
    finally:
        print(f"{PEAK} {memory_kb('VmHWM', 'self')}", file=sys.stderr)


def memory_kb(what: str, process: int | str) -> int:
    """Read from the system how much memory a process has, or had at most."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition(f"{what}:")[2].split()[0])


if __name__ == "__main__":
    main()
