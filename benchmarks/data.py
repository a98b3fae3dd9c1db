"""The labelled sets that the benchmarks measure on, and a knowledge base filled with one."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from benchmarks.homes import passable_folder
from ragkit import KnowledgeBase, Settings
from ragkit.embed.find import default_model
from ragkit_eval.sets import LabelledSet, Question, beir, clapnq, corpus_of, excerpts, squad
from ragkit_ingest import ingest

ROOT = Path(__file__).resolve().parent.parent
READING = {
    "English": ("sat-en", "lsat-rc", "logiqa-en", "gaokao-english"),
    "Chinese": ("logiqa-zh", "gaokao-chinese"),
}


def data() -> Path:
    """Return the folder of the test data, or end with a line that says how to name it."""
    folder = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT / "../shared/data")).resolve()
    if not folder.is_dir():
        raise SystemExit(f"no test data at {folder}: set RAGKIT_TEST_DATA to its folder")
    return folder


@lru_cache
def cranfield() -> LabelledSet:
    return beir(data() / "retrieval/cranfield", "Cranfield")


@lru_cache
def cmrc() -> LabelledSet:
    return squad(data() / "retrieval/cmrc2018_dev.json", "CMRC 2018")


@lru_cache
def clapnq_answerable() -> LabelledSet:
    return clapnq(data() / "retrieval/clapnq_dev_answerable.jsonl", "CLAPNQ")


@lru_cache
def clapnq_unanswerable() -> LabelledSet:
    return clapnq(data() / "retrieval/clapnq_dev_unanswerable.jsonl", "CLAPNQ, unanswerable")


@lru_cache
def chunking() -> LabelledSet:
    return excerpts(data() / "retrieval/chunking_evaluation", "chunking_evaluation")


@lru_cache
def reading(language: str) -> LabelledSet:
    """AGIEval's exam questions about a text, each with its right option, as queries for the text.

    Nobody labelled it for retrieval: a passage counts as relevant to the questions printed under
    it, and what else would answer them does not.
    """
    documents: dict[str, str] = {}
    questions = []
    for task in READING[language]:
        lines = (data() / f"tasks/agieval/{task}.jsonl").read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            asked = json.loads(line)
            passage, right = asked["passage"], "ABCDE".find(asked["label"][0])
            if not passage or not 0 <= right < len(asked["options"]):
                continue
            name = documents.setdefault(passage, f"{task}-{number}")
            text = f"{asked['question']} {asked['options'][right][3:]}"
            questions.append(Question(f"{task}-{number}", text, relevant={name: 1}))
    by_name = {name: passage for passage, name in documents.items()}
    return LabelledSet(f"AGIEval passages, {language}", by_name, tuple(questions))


@contextmanager
def knowledge_base(*sets: LabelledSet, model: str | None = None) -> Iterator[KnowledgeBase]:
    """Ingest the sets' documents as text files, as a user would, and open what results.

    `model` names the embedding model, the default without.
    """
    with passable_folder() as folder:
        files = Path(folder, "documents")
        files.mkdir()
        for labelled in sets:
            corpus_of(labelled, files)
        settings = Settings(home=Path(folder, "home"), embed_model=model or default_model())
        report = ingest([files], settings=settings)
        assert not report.failures, report.failures
        with KnowledgeBase.open(settings) as kb:
            yield kb


def document_id(uri: str) -> str:
    """Return the id that a labelled document was written under."""
    return Path(uri).stem
