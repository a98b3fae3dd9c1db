"""Metrics per second against sacreBLEU, rouge_score and pytrec_eval, on the same texts and runs.

The peers run as one process in an environment of their own; the two sides take turns, and each
turn scores other texts than the one before, so that nothing remembered helps. Both count the
seconds of their own processor time, as both use one core and the machine has other work.
"""

import gc
import json
import random
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from typing import IO, Any

from benchmarks.data import data
from benchmarks.environment import peer_python
from ragkit_eval.metrics.registry import text_metric
from ragkit_eval.retrieval import evaluate_run

HERE = Path(__file__).resolve().parent
ROUNDS = 7
QUERIES, DEPTH, JUDGED, DOCUMENTS = 200, 1000, 50, 5_000
MODELS = ("6b_finetuning", "6b_verification")
MEASURES = ("ndcg@10", "map", "mrr", "recall@100")
Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What both sides score; `ours` returns the mean value of a turn, as the peer's side does."""

    name: str
    peer: str
    unit: str
    ours: Callable[[Data], float]


def _corpus(data: Data) -> float:
    references = [[text] for text in data["references"]]
    return text_metric("bleu:13a").corpus(data["predictions"], references)


def _chrf(data: Data) -> float:
    references = [[text] for text in data["references"]]
    return text_metric("chrf").corpus(data["predictions"], references)


def _items(spec: str) -> Callable[[Data], float]:
    def mean(data: Data) -> float:
        metric = text_metric(spec)
        pairs = zip(data["predictions"], data["references"], strict=True)
        return fmean(metric.item(prediction, [reference]) for prediction, reference in pairs)

    return mean


def _retrieval(data: Data) -> float:
    return evaluate_run(data["qrels"], data["run"], MEASURES).mean["ndcg@10"]


CASES = (
    Case("bleu", "sacreBLEU", "answers", _corpus),
    Case("sentence-bleu", "sacreBLEU", "answers", _items("bleu:13a")),
    Case("chrf", "sacreBLEU", "answers", _chrf),
    Case("rouge-1", "rouge_score", "answers", _items("rouge-1")),
    Case("rouge-1:stem", "rouge_score", "answers", _items("rouge-1:stem")),
    Case("rouge-2", "rouge_score", "answers", _items("rouge-2")),
    Case("rouge-l", "rouge_score", "answers", _items("rouge-l")),
    Case("rouge-lsum", "rouge_score", "answers", _items("rouge-lsum")),
    Case("retrieval", "pytrec_eval", "queries", _retrieval),
)


def run() -> str:
    shared = _data()
    answers = len(shared["references"])
    lines = [
        "## Metrics\n",
        f"Recorded solutions of two models to {answers:,} questions of GSM8K against the reference"
        f" solutions; for retrieval {QUERIES} queries of {DEPTH} made-up results and {JUDGED}"
        f" judgements, {len(MEASURES)} measures at once. Medians of {ROUNDS} rounds in turn,"
        " per second of processor time. BLEU"
        " and chrF are sacreBLEU's own, chosen and called. The values of ROUGE differ from"
        " rouge_score's where a text has letters beyond ASCII, which it drops, and with stems for"
        " irregular words, which ragkit looks up as ROUGE-1.5.5 does.\n",
        "| metric | peer | its per second | ragkit's per second | ratio | its value | ragkit's |",
        "|---|---|---|---|---|---|---|",
    ]
    with _peers(shared) as ask:
        gc.collect()
        gc.freeze()  # what stays is no work for the collector, on either side
        for case in CASES:
            lines.append(_row(case, shared, ask))
            print(lines[-1], flush=True)
        gc.unfreeze()
    return "\n".join(lines) + "\n"


def _row(case: Case, shared: Data, ask: Callable[[str, int], tuple[float, float]]) -> str:
    ours, theirs, ratios = [], [], []
    value = its_value = 0.0
    count = QUERIES if case.unit == "queries" else len(shared["references"])
    for turn in range(ROUNDS + 1):
        peer_s, its_value = ask(case.name, turn)
        part = _of_turn(shared, turn)
        started = time.process_time()
        value = case.ours(part)
        own_s = time.process_time() - started
        if turn:  # the first turn loads what is loaded once
            ours.append(count / own_s)
            theirs.append(count / peer_s)
            ratios.append(peer_s / own_s)
    return (
        f"| {case.name} | {case.peer} | {median(theirs):,.0f} {case.unit} |"
        f" {median(ours):,.0f} | {median(ratios):.2f} | {its_value:.4f} | {value:.4f} |"
    )


def _of_turn(shared: Data, turn: int) -> Data:
    """Return one of the two sets, each text with the turn's number, so that none comes twice."""
    return {
        "predictions": [f"{text} {turn}" for text in shared["predictions"][turn % 2]],
        "references": [f"{text} {turn}" for text in shared["references"]],
        "qrels": shared["qrels"],
        "run": shared["runs"][turn % 2],
    }


def _data() -> dict[str, Any]:
    path = data() / "oracles/gsm8k/example_model_solutions.jsonl"
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    chance = random.Random(0)
    return {
        "references": [line["ground_truth"] for line in lines],
        "predictions": [[line[model]["solution"] for line in lines] for model in MODELS],
        "qrels": {
            str(query): {
                f"d{chance.randrange(DOCUMENTS)}": chance.randrange(3) for _ in range(JUDGED - 1)
            }
            | {"d0": 1}
            for query in range(QUERIES)
        },
        "runs": [
            {
                str(query): {
                    f"d{document}": chance.random()
                    for document in chance.sample(range(DOCUMENTS), DEPTH)
                }
                for query in range(QUERIES)
            }
            for _ in MODELS
        ],
    }


@contextmanager
def _peers(shared: Data) -> Iterator[Callable[[str, int], tuple[float, float]]]:
    """Start the peers in their environment, and give what asks them for a turn."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.json")
        path.write_text(json.dumps(shared), encoding="utf-8")
        command = [str(peer_python("metrics")), str(HERE / "peers/metrics_peers.py"), str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as peers:
            stdin, stdout = peers.stdin, peers.stdout
            assert stdin is not None
            assert stdout is not None
            yield lambda case, turn: _asked(stdin, stdout, case, turn)
            stdin.close()


def _asked(stdin: IO[str], stdout: IO[str], case: str, turn: int) -> tuple[float, float]:
    stdin.write(f"{case} {turn}\n")
    stdin.flush()
    line = stdout.readline()
    if not line:
        raise SystemExit(f"the peers failed at {case}: their error stands above")
    told = json.loads(line)
    return told["seconds"], told["value"]
