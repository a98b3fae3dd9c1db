"""Ingestion end to end against LangChain, LlamaIndex and Haystack: files in, rows out.

Same files, same model, same PostgreSQL. BENCH_SHARE takes less text, BENCH_SIDES names sides,
BENCH_ROUNDS says how often each is asked.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.homes import passable_folder
from benchmarks.ingestion_files import mixture, share
from benchmarks.ingestion_sides import (
    TITLES,
    Result,
    asked,
    fresh_database,
    median,
    ratios,
    rounds,
    sides,
)
from benchmarks.targets import at_least
from ragkit.store.server.embedded import EmbeddedServer

FASTER, AGAIN = 4.0, 20.0  # what ingestion is to be, in times: against peers, and done again

HEAD = """## Ingestion

{files} files, {size:.2f} MB: real PDF, Word, HTML, Markdown and CSV files and, of
chunking_evaluation and CLAPNQ, texts, web pages and a table{part}; English. All-MiniLM-L6-v2 in an
environment of its own for each library, one PostgreSQL, models and libraries loaded and tables made
before the clock; medians of {rounds} interleaved runs. *CPU s*: of the library's processes, the
database's apart. *Model*: seconds in which it worked. *Tokens*: what it read; *cut*: what it was
given beyond its 256 tokens and never saw. *Failed*: files of which nothing was read.

Peers as their pages show them: LangChain's loaders, RecursiveCharacterTextSplitter (counting by
the model's tokenizer), HuggingFaceEmbeddings and PGVectorStore; LlamaIndex's SimpleDirectoryReader,
SentenceSplitter (the same), HuggingFaceEmbedding in batches of 32 and PGVectorStore; Haystack's
converters, DocumentSplitter by words, sentence-transformers embedder and PgvectorDocumentStore.
They keep no index of vectors or words, no version to replace and no list of what is done. ragkit
indexes words, ends with a vector index where it has enough vectors, and does not wait for the disk
at each commit, for it would do again what a crash of the machine loses. Texts differ: ragkit keeps
tables, headings and page numbers, and drops what is hidden and a page's menus. One PDF is
left out, half a character in whose text ends the whole run of LlamaIndex and of Haystack.

| | chunks | seconds | CPU s | model | chunks/s | KB/s | tokens | cut | failed |
|---|---|---|---|---|---|---|---|---|---|"""


def run() -> str:
    """Measure, and tabulate."""
    names = asked()
    runs: dict[str, list[Result]] = {name: [] for name in names}
    with passable_folder() as place:
        folder, logs = Path(place, "files"), Path(place, "logs")
        folder.mkdir()
        logs.mkdir()
        size = mixture(folder)
        count = len(list(folder.iterdir()))
        with EmbeddedServer.open(Path(place, "home")) as server, sides(names, logs) as started:
            for _ in range(rounds()):
                for name, side in started.items():
                    url = fresh_database(server.url)
                    runs[name].append(side.ask("take_in", url=url, folder=str(folder)))
    part = "" if share() == 1 else f" (a share of {share():g} of them)"
    head = HEAD.format(files=count, size=size / 1e6, part=part, rounds=rounds())
    return "\n".join([head, *_rows(runs, size), "", *_said(runs)]) + "\n"


def _rows(runs: Mapping[str, Sequence[Result]], size: int) -> list[str]:
    return [_row(TITLES[name], results, size) for name, results in runs.items()]


def _row(title: str, results: Sequence[Result], size: int) -> str:
    seconds, chunks = median(results), results[0]["chunks"]
    cells = [
        *(title, f"{chunks:.0f}", f"{seconds:.1f}"),
        *(f"{median(results, 'cpu'):.1f}", f"{median(results, 'model'):.1f}"),
        *(f"{chunks / seconds:.1f}", f"{size / 1e3 / seconds:.0f}"),
        *(f"{results[0]['tokens']:.0f}", f"{results[0]['cut']:.0f}", f"{results[0]['failed']:.0f}"),
    ]
    return f"| {' | '.join(cells)} |"


def _said(runs: Mapping[str, Sequence[Result]]) -> list[str]:
    """Say the ratios, what bounds them, and how the second run went."""
    if "ragkit" not in runs:
        return []
    ours, peers = runs["ragkit"], [name for name in runs if name != "ragkit"]
    lines = []
    if peers:
        found = ratios(runs, "ragkit", peers)
        model = median(ours, "model")
        bound = min(median(runs[name]) for name in peers) / model
        lines += [
            f"Against the fastest peer of each round: {', '.join(f'{one:.2f}' for one in found)}"
            f" times as fast. Were all but the model free, it would be {bound:.2f}: ragkit's model"
            f" worked {model / median(ours):.0%} of the time, at"
            f" {ours[0]['tokens'] / model:.0f} tokens/s; the peers' at"
            f" {', '.join(_speed(name, runs[name]) for name in peers)}.",
            at_least(
                "times the fastest peer's speed", FASTER, {"the median": statistics.median(found)}
            ),
        ]
    again = statistics.median(result["seconds"] / result["again"] for result in ours)
    lines += [
        f"A second run over the unchanged files took {median(ours, 'again'):.2f} s.",
        at_least("times less than the first", AGAIN, {"the median": again}),
    ]
    return lines


def _speed(name: str, results: Sequence[Result]) -> str:
    return f"{results[0]['tokens'] / median(results, 'model'):.0f} ({TITLES[name]})"
