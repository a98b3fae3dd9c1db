"""Chinese in two scripts: questions in one, texts in the other, found and answered as in one.

The traditional texts are OpenCC's, of CMRC 2018 in simplified Chinese, as Taiwan writes.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.answers import contained
from benchmarks.data import cmrc, knowledge_base
from benchmarks.environment import HERE, peer_python
from benchmarks.retrieval import DEPTH, by_document
from ragkit import KnowledgeBase
from ragkit.types import Mode
from ragkit_eval.retrieval import ndcg
from ragkit_eval.sets import LabelledSet, Question

QUESTIONS = 1000  # of 3,219, drawn by the hashes of their ids
MODES: tuple[Mode, ...] = ("lexical", "hybrid")
HEAD = """## Two Chinese scripts

CMRC 2018 as it is, in simplified characters, and converted to traditional ones by OpenCC's `s2tw`:
1,000 of its questions, drawn by the hashes of their ids, in each script on texts in each. nDCG@10
over documents, by words alone and by the default; whether the extractive answer contains the gold
one, as the text writes it, and how often it is refused.

| questions | texts | nDCG@10, words | nDCG@10, hybrid | contained | refused |
|---|---|---|---|---|---|
"""


def run() -> str:
    scripts = {"simplified": cmrc().limited(QUESTIONS)}
    scripts["traditional"] = traditional(scripts["simplified"])
    return HEAD + "".join(f"{row}\n" for row in rows(scripts))


def rows(scripts: dict[str, LabelledSet]) -> Iterator[str]:
    """Ask the questions of every script about the texts of every script."""
    for of_texts, texts in scripts.items():
        with knowledge_base(texts) as kb:
            for of_questions, asked in scripts.items():
                both = zip(asked.questions, texts.questions, strict=True)
                questions = [replace(text, text=question.text) for question, text in both]
                figures = " | ".join(f"{figure:.3f}" for figure in _figures(kb, questions))
                row = f"| {of_questions} | {of_texts} | {figures} |"
                print(row, flush=True)
                yield row


def _figures(kb: KnowledgeBase, questions: Sequence[Question]) -> Iterator[float]:
    for mode in MODES:
        pipeline = kb.retriever(mode)
        gains = [
            ndcg(asked.relevant, by_document(pipeline.search(asked.text, k=DEPTH)), k=10)
            for asked in questions
        ]
        yield sum(gains) / len(gains)
    answers = [(asked, kb.ask(asked.text)) for asked in questions]
    yield sum(contained(asked, answer) for asked, answer in answers) / len(answers)
    yield sum(answer.refused for _, answer in answers) / len(answers)


def traditional(labelled: LabelledSet) -> LabelledSet:
    """Write a set in traditional characters; a gold answer is cut out of its converted text."""
    names, questions = list(labelled.documents), labelled.questions
    converted = _converted([*labelled.documents.values(), *(asked.text for asked in questions)])
    documents = dict(zip(names, converted, strict=False))
    return replace(
        labelled,
        name=f"{labelled.name}, traditional",
        documents=documents,
        questions=tuple(
            replace(asked, text=text, answers=tuple(_golds(asked, labelled.documents, documents)))
            for asked, text in zip(questions, converted[len(names) :], strict=True)
        ),
    )


def _golds(asked: Question, before: dict[str, str], after: dict[str, str]) -> Iterator[str]:
    for name in asked.relevant:
        assert len(before[name]) == len(after[name]), "one character is made of one"
        for gold in asked.answers:
            start = before[name].find(gold)
            if start >= 0:
                yield after[name][start : start + len(gold)]


def _converted(texts: Sequence[str]) -> list[str]:
    """Have OpenCC convert texts, in its own environment."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "texts.json")
        path.write_text(json.dumps(texts), encoding="utf-8")
        script = HERE / "peers/scripts_peers.py"
        command = [str(peer_python("scripts")), str(script), "s2tw", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"OpenCC failed:\n{done.stderr[-2000:]}")
    converted: list[str] = json.loads(done.stdout)
    return converted
