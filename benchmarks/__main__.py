"""Run the benchmarks named on the command line, or all, and write their tables to the docs.

Each benchmark is a module with `run() -> str`, a Markdown section that begins with its title. What
is not run keeps the section that the docs have, with the machine that it was measured on. Training
is run where it is named alone: `python -m benchmarks tuning`, or one of its parts. Which sizes the
sections of search measure, and where they keep their databases, is said in sizes.py and homes.py.
"""

import os
import platform
import re
import sys
import time
from importlib import import_module
from pathlib import Path

SECTIONS = {
    "ingestion": "Ingestion",
    "ingestion_formats": "Reading and splitting, by format",
    "reading": "Reading, beside other libraries",
    "pipeline": "The pipeline",
    "embedding": "Embedding",
    "storing": "Storing ready vectors",
    "splitters": "Splitters",
    "retrieval": "Retrieval quality",
    "dense": "Dense search",
    "lexical": "Search by words",
    "hybrid": "Hybrid search and its legs",
    "readers": "Readers beside a writer",
    "large": "Ten million chunks",
    "cluster": "Citus",
    "rerank": "Reranking",
    "answers": "Extractive answers",
    "scripts": "Two Chinese scripts",
    "everyday_answers": "Everyday questions",
    "small_files": "Files of a few sentences",
    "refusal": "Refusals",
    "prose": "Checking prose",
    "conversations": "Conversations",
    "packing": "Prompts",
    "serving": "Serving",
    "http": "HTTP API",
    "metrics": "Metrics",
    "inflight": "Requests in flight",
    "startup": "Start-up",
    "memory": "Memory",
    "tuning": "Training on your own questions",
}
# Left out unless named: hours of training, hours of loading, and a cluster that has to be built.
UNLESS_NAMED = ("tuning", "large", "cluster")
DOCS = Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md"
HEAD = """# Benchmarks

Written by `make bench`; the section on training by `python -m benchmarks tuning`. Times are from
noisy machines: trust the ratios, which come from interleaved runs. The data are described where
they are published: Cranfield, CMRC 2018, CLAPNQ, and the chunking_evaluation set; they are not part
of this repository.

"""


def main(wanted: list[str]) -> None:
    names, parts = (wanted[:1], wanted[1:]) if wanted[:1] == ["tuning"] else (wanted, [])
    unknown = sorted(set(names) - set(SECTIONS))
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}: there are {', '.join(SECTIONS)}")
    for name in names or [name for name in SECTIONS if name not in UNLESS_NAMED]:
        started = time.perf_counter()
        print(f"== {name}", flush=True)
        module = import_module(f"benchmarks.{name}")
        section = module.run(parts, _kept(SECTIONS[name])) if name == "tuning" else module.run()
        print(f"{section}\n({time.perf_counter() - started:.0f} s)", flush=True)
        write(DOCS, SECTIONS[name], section, machine())


def write(docs: Path, title: str, section: str, measured_on: str) -> None:
    """Put a section into the docs, in the place of the one with its title, in their order."""
    heading, _, body = section.partition("\n")
    assert heading == f"## {title}", f"the section begins with {heading!r}"
    sections = _sections(docs.read_text(encoding="utf-8")) if docs.exists() else {}
    sections[title] = f"{heading}\n\n{measured_on}\n\n{body.strip()}\n"
    order = [title for title in SECTIONS.values() if title in sections]
    docs.write_text(HEAD + "\n".join(sections[title] for title in order), encoding="utf-8")


def _kept(title: str) -> str:
    """Return the section that the docs have; "" for none."""
    return _sections(DOCS.read_text(encoding="utf-8")).get(title, "") if DOCS.exists() else ""


def _sections(text: str) -> dict[str, str]:
    found = re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]
    return {one.partition("\n")[0].removeprefix("## "): one.strip() + "\n" for one in found}


def machine() -> str:
    """Say what it is measured on."""
    from ragkit.embed.precision import cpu_precision, is_int8_fastest

    format_ = "int8" if is_int8_fastest() else cpu_precision()
    return (
        f"Measured on {os.cpu_count()} cores, {platform.machine()}, embedding in {format_};"
        f" Python {platform.python_version()}."
    )


if __name__ == "__main__":
    main(sys.argv[1:])
