"""Check other evaluation packages on cases whose right value is known; write the docs page of it.

`python -m benchmarks.elsewhere` writes docs/evaluation-elsewhere.md. What the packages say comes
from their own environment (peers/elsewhere.txt names the versions).
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.data import data
from benchmarks.environment import peer_python
from ragkit_eval.metrics.registry import text_metric
from ragkit_eval.retrieval import measures
from ragkit_eval.run import summarise
from ragkit_eval.run.item import Response
from ragkit_eval.run.record import Header, Record, Run, TaskHeader
from ragkit_eval.tasks.registry import open_task

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "evaluation-elsewhere.md"
PACKAGES = {"deepeval", "haystack-ai", "llama-index-core", "nltk", "ragas", "rouge_score"}
PACKAGES |= {"sacrebleu"}
WORDNET = Path("/usr/share/wordnet")
CASES: Mapping[str, Any] = json.loads((HERE / "peers/elsewhere.json").read_text(encoding="utf-8"))
HEAD = """# Evaluation elsewhere: what is wrong, and how to see it

Written by `python -m benchmarks.elsewhere`, which runs each package in an environment of its own on
small cases whose right value can be worked out by hand, and ragkit on the same. All figures are
from these runs, with the versions named below. Where another option or another package gives the
right value, that is said too.

"""


@dataclass(frozen=True, slots=True)
class Case:
    """One claim: what a package gives for something, what is right and why, what ragkit gives."""

    package: str
    what: str
    theirs: object
    right: str
    ours: object


def main() -> None:
    if not (WORDNET / "data.noun").exists():
        sys.exit(f"no WordNet in {WORDNET}: apt-get install wordnet-base wordnet-sense-index")
    cases = _cases(_peers())
    PAGE.write_text(HEAD + _table(cases) + _versions(), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))


def _peers() -> Mapping[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [str(peer_python("elsewhere")), str(HERE / "peers/elsewhere_peers.py")]
        problems = data() / "tasks/humaneval/HumanEval.jsonl.gz"
        done = subprocess.run(
            [*command, str(problems), str(WORDNET), folder], capture_output=True, text=True
        )
    if done.returncode:
        raise SystemExit(f"the peers failed:\n{done.stderr[-2000:]}")
    found: Mapping[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _cases(peers: Mapping[str, Any]) -> list[Case]:
    reference, other = CASES["chinese"]
    accents, sentences = CASES["accents"], CASES["sentences"]
    of_one = {"a": 1.0}
    return [
        Case(
            "sacreBLEU",
            f"BLEU of {other} against {reference}, default tokenizer",
            peers["sacrebleu, default"],
            f"its own tokenizer `zh` gives {peers['sacrebleu, zh']:.3f}; the default takes a whole"
            " Chinese clause for one word",
            text_metric("bleu").corpus([other], [[reference]]),
        ),
        Case(
            "rouge_score",
            f"ROUGE-L of {reference} against itself",
            peers["rouge_score, identical Chinese"],
            "1: the texts are the same; every character outside a-z and 0-9 is dropped",
            text_metric("rouge-l").item(reference, [reference]),
        ),
        Case(
            "rouge_score",
            f"ROUGE-1 of “{accents[1]}” against “{accents[0]}”",
            peers["rouge_score, accents"],
            "0.5: one of two words is the same; é is dropped, what is left looks equal",
            text_metric("rouge-1").item(accents[1], [accents[0]]),
        ),
        Case(
            "ragas",
            "BLEU of two sentences, the second one wrong",
            peers["ragas, BLEU"],
            f"sacreBLEU gives {peers['sacrebleu, sentences']:.3f}; each sentence is passed as if it"
            " were a set of references of its own, and only the first is compared",
            text_metric("bleu").corpus([sentences[1]], [[sentences[0]]]),
        ),
        Case(
            "ragas",
            f"ROUGE-L of {reference} against itself",
            peers["ragas, identical Chinese"],
            "1: see rouge_score, which it calls",
            text_metric("rouge-l").item(reference, [reference]),
        ),
        Case(
            "ragas",
            "the mean of four answers, one of them right, three failed",
            peers["ragas, failed"],
            "0.25, or a mean with its coverage; failed items are left out of the mean unsaid",
            _with_errors(),
        ),
        Case(
            "DeepEval",
            f"ROUGE-L of {reference} against itself",
            peers["deepeval, identical Chinese"],
            "1: see rouge_score, which it calls",
            text_metric("rouge-l").item(reference, [reference]),
        ),
        Case(
            "DeepEval",
            "quasi-exact match of “北京。” with “北京”",
            peers["deepeval, full stop"],
            "1: punctuation is taken out, but only that of ASCII",
            text_metric("exact-match").item("北京。", ["北京"]),
        ),
        Case(
            "DeepEval",
            f"HumanEval: of {peers['deepeval, programs']} programs that all return None, passed",
            peers["deepeval, wrong programs passed"],
            "0: the published test only defines `check`, which is never called; 22 fail for an"
            " import that is forbidden",
            _wrong_programs(),
        ),
        Case(
            "NLTK",
            "METEOR of “the studies” against “the works”",
            peers["nltk, synonyms"],
            "0.938 = 1 - 0.5 / 2³: *study* and *work* are synonyms in WordNet; they are looked up"
            " by their stems, and *studi* is no word",
            text_metric("meteor").item(CASES["synonyms"][1], [CASES["synonyms"][0]]),
        ),
        Case(
            "LlamaIndex",
            "average precision of three chunks of the one relevant document",
            peers["llama-index, average precision"],
            "1: no more than everything can be found; Haystack gives"
            f" {peers['haystack, average precision']:g}",
            measures(["map"], {"a": 1}, of_one)["map"],
        ),
        Case(
            "LlamaIndex",
            "nDCG of the same",
            peers["llama-index, ndcg"],
            "1",
            measures(["ndcg"], {"a": 1}, of_one)["ndcg"],
        ),
        Case(
            "LlamaIndex",
            "MRR of a question for which nothing is found",
            peers["llama-index, nothing found"],
            "0: nothing relevant was found",
            measures(["mrr"], {"a": 1}, {})["mrr"],
        ),
    ]


def _with_errors() -> str:
    """Summarise a run of four items of which one is right and three failed."""
    ok = Record("quiz", "0", "", "ok", scores={"acc": 1.0})
    failed = [Record("quiz", str(n), "", "error", error="timeout") for n in (1, 2, 3)]
    task = TaskHeader("quiz", "1", "generate", "acc", 4, "", "")
    run = Run(Header((task,), {"name": "example"}), (ok, *failed), Path("example.jsonl"))
    summary = summarise(run)["quiz"]
    return f"{summary.scores['acc'].mean:.2f}, coverage {summary.coverage:.0%}"


def _wrong_programs() -> int:
    """Count the programs that return None and pass all the same."""
    task = open_task("humaneval", data=data() / "tasks", execute_code=True)
    wrong = Response(text="    return None\n")
    return round(sum(task.score(item, wrong).scores[task.metric] for item in task.items()))


def _table(cases: Sequence[Case]) -> str:
    rows = [
        f"| {case.package} | {case.what} | {_shown(case.theirs)} | {case.right} |"
        f" {_shown(case.ours)} |"
        for case in cases
    ]
    return "\n".join(
        ["| package | what | gives | right | ragkit |", "|---|---|---|---|---|", *rows]
    )


def _shown(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _versions() -> str:
    lines = (HERE / "peers/elsewhere.txt").read_text(encoding="utf-8").splitlines()
    versions = [line.replace("==", " ") for line in lines if line.partition("==")[0] in PACKAGES]
    return "\n\nVersions: " + ", ".join(versions) + ".\n"


if __name__ == "__main__":
    main()
