"""Everyday questions and the mixed collection that they are asked of, in English and Chinese.

The collection has about two hundred documents: eight small ones in each language and the example
handbook, which are ragkit's own, the files of many formats, and sixty passages each of CLAPNQ and
CMRC 2018. The questions were written by readers of the documents who had not seen the code:
answerable ones as people copy, reword, shorten and chat, near misses, and foreign ones.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from benchmarks.data import ROOT, data
from benchmarks.homes import passable_folder
from ragkit import Answer, KnowledgeBase, Settings
from ragkit.embed.find import default_model
from ragkit_ingest import ingest

FOLDER: Final = Path(__file__).with_name("everyday")
LANGUAGES: Final = ("en", "zh")
NAMES: Final = {  # of the files of questions: their language, and that of the documents if another
    "en": "English",
    "zh": "Chinese",
    "zh-en": "Chinese about English",
    "en-zh": "English about Chinese",
}
PASSAGES: Final = 60  # of CLAPNQ and of CMRC 2018, spread over each
_SURE_CHARS: Final = 6  # a longer answer proves itself, a shorter one needs its own document


@dataclass(frozen=True, slots=True)
class Asked:
    """A labelled question: `all_of` must stand in its answer, or one of `answers`.

    `kind` is copied, reworded, short, everyday, near or foreign; the last two have no answer.
    """

    id: str
    language: str
    question: str
    kind: str
    document: str
    answers: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()

    @property
    def answerable(self) -> bool:
        """Whether some document answers it."""
        return bool(self.answers or self.all_of)

    @property
    def half(self) -> int:
        """0 for the half that constants were chosen on, 1 for the half that is reported.

        Questions about one document are in one half.
        """
        return half_of(self.document or self.id)


def half_of(group: str) -> int:
    """Return which half a group of questions is in, 0 or 1, by its hash."""
    return hashlib.sha256(group.encode()).digest()[0] % 2


@lru_cache
def questions(language: str) -> tuple[Asked, ...]:
    """Read the questions of a language."""
    lines = (FOLDER / f"questions.{language}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_asked(json.loads(line), language) for line in lines)


def _asked(row: dict[str, Any], language: str) -> Asked:
    return Asked(
        id=row["id"],
        language=language,
        question=row["question"],
        kind=row["kind"],
        document=row["document"],
        answers=tuple(row.get("answers", ())),
        all_of=tuple(row.get("all", ())),
    )


def contained(asked: Asked, answer: Answer) -> bool:
    """Tell whether an answer holds what the label says."""
    text = _squeezed(answer.text)
    quoted = _squeezed(" ".join(citation.quote for citation in answer.citations))
    names = {Path(citation.uri).name for citation in answer.citations}
    own = Path(asked.document).name in names

    def holds(gold: str) -> bool:
        gold = _squeezed(gold)
        return (gold in text or gold in quoted) and (own or len(gold) > _SURE_CHARS)

    if asked.all_of:
        return all(map(holds, asked.all_of))
    return any(map(holds, asked.answers))


def _squeezed(text: str) -> str:
    return "".join(text.split()).casefold()


@contextmanager
def mixed_collection(model: str | None = None) -> Iterator[KnowledgeBase]:
    """Ingest the mixed collection, as a user would, and open it; by the default model without."""
    with passable_folder() as folder:
        files = Path(folder, "files")
        write_mixed(files)
        settings = Settings(home=Path(folder, "home"), embed_model=model or default_model())
        ingest([files], settings=settings)  # some of the formats' files are broken on purpose
        with KnowledgeBase.open(settings) as kb:
            yield kb


def write_mixed(folder: Path) -> None:
    """Write the files of the mixed collection into a folder that does not exist."""
    shutil.copytree(FOLDER / "documents", folder / "own")
    shutil.copytree(ROOT / "examples/handbook", folder / "handbook")
    formats = data() / "documents"
    shutil.copytree(formats, folder / "formats", ignore=shutil.ignore_patterns("expected"))
    published = data() / "retrieval"
    passages = folder / "passages"
    passages.mkdir()
    lines = (published / "clapnq_dev_answerable.jsonl").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines[:: len(lines) // PASSAGES][:PASSAGES]):
        passage = json.loads(line)["passages"][0]
        text = f"# {passage['title']}\n\n{passage['text']}\n"
        (passages / f"clapnq-{number:02}.md").write_text(text, encoding="utf-8")
    articles = json.loads((published / "cmrc2018_dev.json").read_text(encoding="utf-8"))["data"]
    for number, article in enumerate(articles[:: len(articles) // PASSAGES][:PASSAGES]):
        text = article["paragraphs"][0]["context"]
        (passages / f"cmrc-{number:02}.txt").write_text(f"{text}\n", encoding="utf-8")
