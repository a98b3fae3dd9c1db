"""Run the benchmarks named on the command line, or all, and write their tables to the docs.

Each benchmark is a module with `run() -> str`, a Markdown section; its result is kept in
benchmarks/out/, so that one can be run again alone. Which sizes the sections of search measure, and
where they keep their databases, is said in sizes.py and homes.py.
"""

import os
import platform
import sys
import time
from importlib import import_module
from pathlib import Path

SECTIONS = (
    *(
        "ingestion",
        "ingestion_formats",
        "pipeline",
        "storing",
        "splitters",
        "retrieval",
        "dense",
        "lexical",
        "hybrid",
        "readers",
    ),
    *("rerank", "answers", "packing", "serving", "http", "metrics", "inflight", "startup"),
)
ROOT = Path(__file__).resolve().parent.parent
OUT = Path(__file__).resolve().parent / "out"
HEAD = """# Benchmarks

Written by `make bench`. Times are from one noisy machine: trust the ratios, which come from
interleaved runs. The data are described where they are published: Cranfield, CMRC 2018,
CLAPNQ, and the chunking_evaluation set; they are not part of this repository.

"""


def main(wanted: list[str]) -> None:
    unknown = sorted(set(wanted) - set(SECTIONS))
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}: there are {', '.join(SECTIONS)}")
    OUT.mkdir(exist_ok=True)
    for name in wanted or SECTIONS:
        started = time.perf_counter()
        print(f"== {name}", flush=True)
        section = import_module(f"benchmarks.{name}").run()
        (OUT / f"{name}.md").write_text(section, encoding="utf-8")
        print(f"{section}\n({time.perf_counter() - started:.0f} s)", flush=True)
    sections = [(OUT / f"{name}.md") for name in SECTIONS]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sections if path.exists())
    (ROOT / "docs" / "benchmarks.md").write_text(HEAD + _machine() + text, encoding="utf-8")


def _machine() -> str:
    from ragkit.embed.precision import cpu_precision

    return (
        f"Machine: {os.cpu_count()} cores, {platform.machine()}, embedding in {cpu_precision()};"
        f" Python {platform.python_version()}.\n\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
