"""Files of a few sentences, each asked alone: what is refused, and what the answers hold.

The files and their questions were written by readers who had not seen the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.everyday_answers import HALVES, Outcome, outcome, row
from benchmarks.everyday_set import FOLDER, LANGUAGES, Asked
from benchmarks.homes import passable_folder
from ragkit import KnowledgeBase, Settings
from ragkit_ingest import ingest

HEAD = """## Files of a few sentences

Notices, notes and short letters of two to seven sentences, 48 in each language, a collection each;
what a stranger tries first. Four questions have their answer in the file. Four *near* misses ask
about what the file speaks of for what it does not say, of the same kinds: who, when, how much.
*Contained* as above.
"""


@dataclass(frozen=True, slots=True)
class SmallFile:
    """A file of a few sentences and its questions."""

    name: str
    text: str
    questions: tuple[Asked, ...]


def run() -> str:
    lines = [
        HEAD,
        "| language | half | answerable | refused | contained | quotations | near misses"
        " | refused |",
        "|" + "---|" * 8,
    ]
    for language in LANGUAGES:
        outcomes = list(ask(language))
        for half, name in HALVES:
            some = [o for o in outcomes if o.asked.half == half]
            lines.append(row(language, name, some, ("near",)))
    return "\n".join(lines) + "\n"


def small_files(language: str) -> Iterator[SmallFile]:
    """Read the files of a language."""
    for line in (FOLDER / f"small.{language}.jsonl").read_text(encoding="utf-8").splitlines():
        file = json.loads(line)
        asked = [
            Asked(
                id=f"{file['document']} {number}",
                language=language,
                question=question["question"],
                kind="near" if question["answer"] is None else "everyday",
                document=file["document"],
                answers=() if question["answer"] is None else (question["answer"],),
            )
            for number, question in enumerate(file["questions"], 1)
        ]
        yield SmallFile(file["document"], file["text"], tuple(asked))


def ask(language: str) -> Iterator[Outcome]:
    """Ask each file's questions of a collection of that file alone."""
    with passable_folder() as folder:
        for number, file in enumerate(small_files(language), 1):
            path = Path(folder, str(number), file.name)
            path.parent.mkdir()
            path.write_text(file.text, encoding="utf-8")
            settings = Settings(home=Path(folder, "home"), collection=f"small-{number}")
            ingest([path], settings=settings)
            with KnowledgeBase.open(settings) as kb:
                yield from (outcome(kb, asked) for asked in file.questions)
