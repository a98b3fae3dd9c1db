"""The peers' side of the metrics benchmark: score what the other side scores, when it says so.

Run in their environment: python metrics_peers.py DATA.json. For each line "CASE ROUND" on standard
input it prints a line of JSON: the seconds of processor time that it took, and the mean value.
"""

import gc
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytrec_eval
import sacrebleu
from rouge_score.rouge_scorer import RougeScorer

MEASURES = {"ndcg_cut.10", "map", "recip_rank", "recall.100"}


def main(path: str) -> None:
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    gc.collect()
    gc.freeze()  # what stays is no work for the collector, on either side
    for line in sys.stdin:
        case, turn = line.split()
        part = _of_turn(data, int(turn))
        started = time.process_time()
        value = CASES[case](part)
        taken = time.process_time() - started
        print(json.dumps({"seconds": taken, "value": value}), flush=True)


def _of_turn(data: dict[str, Any], turn: int) -> dict[str, Any]:
    """Return one of the two sets, each text with the turn's number, as the other side does."""
    return {
        "predictions": [f"{text} {turn}" for text in data["predictions"][turn % 2]],
        "references": [f"{text} {turn}" for text in data["references"]],
        "qrels": data["qrels"],
        "run": data["runs"][turn % 2],
    }


def _corpus_bleu(data: dict[str, Any]) -> float:
    return sacrebleu.corpus_bleu(data["predictions"], [data["references"]]).score / 100


def _sentence_bleu(data: dict[str, Any]) -> float:
    pairs = zip(data["predictions"], data["references"], strict=True)
    return _mean([sacrebleu.sentence_bleu(p, [r]).score / 100 for p, r in pairs])


def _chrf(data: dict[str, Any]) -> float:
    return sacrebleu.corpus_chrf(data["predictions"], [data["references"]]).score / 100


def _rouge(name: str, *, stem: bool = False) -> Callable[[dict[str, Any]], float]:
    scorer = RougeScorer([name], use_stemmer=stem)

    def mean(data: dict[str, Any]) -> float:
        pairs = zip(data["predictions"], data["references"], strict=True)
        return _mean([scorer.score(r, p)[name].fmeasure for p, r in pairs])

    return mean


def _trec(data: dict[str, Any]) -> float:
    found = pytrec_eval.RelevanceEvaluator(data["qrels"], MEASURES).evaluate(data["run"])
    return _mean([scores["ndcg_cut_10"] for scores in found.values()])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values)


CASES = {
    "bleu": _corpus_bleu,
    "sentence-bleu": _sentence_bleu,
    "chrf": _chrf,
    "rouge-1": _rouge("rouge1"),
    "rouge-1:stem": _rouge("rouge1", stem=True),
    "rouge-2": _rouge("rouge2"),
    "rouge-l": _rouge("rougeL"),
    "rouge-lsum": _rouge("rougeLsum"),
    "retrieval": _trec,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
