"""The whole of ragkit with one embedding model, in a process of its own, for benchmarks/embedding.

python -m benchmarks.embedding_once MODEL. Prints JSON: chunks and seconds of ingestion, medians of
seconds for a search and an answer, and megabytes of memory and of the model's files.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from statistics import median
from time import perf_counter

from benchmarks.conversations import EVERYDAY, HANDBOOK
from benchmarks.everyday_set import LANGUAGES, questions
from benchmarks.footprint import resident
from benchmarks.homes import home
from ragkit import KnowledgeBase, Settings
from ragkit.embed import local
from ragkit.embed.find import find_model
from ragkit_ingest import ingest

ASKED = 40  # of each language; as many before the clock


@dataclass(frozen=True, slots=True)
class Whole:
    """What one model took."""

    chunks: int
    ingest_s: float
    search_s: float
    ask_s: float
    own_mb: float
    shared_mb: float
    disk_mb: float


def main(model: str) -> None:
    with home("embedding") as folder:
        settings = Settings(home=folder / "home", embed_model=model)
        local._load = lru_cache(local._load)  # once, as in a process that does one or the other
        folders = [EVERYDAY / "documents" / language for language in LANGUAGES]
        ingest([HANDBOOK / "en" / "leave.md"], settings=settings, collection="warm-up")
        began = perf_counter()
        report = ingest([*folders, HANDBOOK], settings=settings)
        ingest_s = perf_counter() - began
        assert not report.failures, report.failures
        asked = [one.question for language in LANGUAGES for one in questions(language)[: 2 * ASKED]]
        with KnowledgeBase.open(settings) as kb:
            searches, answers = [], []
            for text in asked[1::2] + asked[::2]:
                began = perf_counter()
                kb.search(text)
                between = perf_counter()
                kb.ask(text)
                searches.append(between - began)
                answers.append(perf_counter() - between)
        files = find_model(model).folder.rglob("*")
        whole = Whole(
            report.chunks,
            ingest_s,
            median(searches[len(asked) // 2 :]),
            median(answers[len(asked) // 2 :]),
            resident("RssAnon") / 1e6,
            resident("RssFile") / 1e6,
            sum(file.stat().st_size for file in files if file.is_file()) / 1e6,
        )
    print(json.dumps(asdict(whole)))


if __name__ == "__main__":
    main(*sys.argv[1:])
