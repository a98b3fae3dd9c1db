"""What other evaluation packages say of small cases; JSON of name to value on standard output.

Runs in their own environment. Arguments: HumanEval's problems, Debian's WordNet folder, and a
folder for NLTK's data, which needs the latter's files under its own names.
"""

import asyncio
import gzip
import json
import os
import shutil
import signal
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "1"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
warnings.filterwarnings("ignore")

CASES = json.loads(Path(__file__).with_name("elsewhere.json").read_text(encoding="utf-8"))


def main(problems: Path, wordnet: Path, nltk_data: Path) -> None:
    found = {
        **sacrebleu(),
        **rouge_score(),
        **ragas(),
        **deepeval(problems),
        **nltk(wordnet, nltk_data),
        **llama_index(),
        **haystack(),
    }
    print(json.dumps(found, ensure_ascii=False))


def sacrebleu() -> dict[str, Any]:
    from sacrebleu import corpus_bleu

    reference, prediction = CASES["chinese"]
    return {
        "sacrebleu, default": corpus_bleu([prediction], [[reference]]).score / 100,
        "sacrebleu, zh": corpus_bleu([prediction], [[reference]], tokenize="zh").score / 100,
        "sacrebleu, sentences": corpus_bleu(
            [CASES["sentences"][1]], [[CASES["sentences"][0]]]
        ).score
        / 100,
    }


def rouge_score() -> dict[str, Any]:
    from rouge_score.rouge_scorer import RougeScorer

    same = CASES["chinese"][0]
    reference, prediction = CASES["accents"]
    scorer = RougeScorer(["rouge1", "rougeL"])
    return {
        "rouge_score, identical Chinese": scorer.score(same, same)["rougeL"].fmeasure,
        "rouge_score, accents": scorer.score(reference, prediction)["rouge1"].fmeasure,
    }


def ragas() -> dict[str, Any]:
    from ragas.metrics.collections import BleuScore, RougeScore
    from ragas.utils import safe_nanmean

    reference, prediction = CASES["sentences"]
    same = CASES["chinese"][0]
    bleu = asyncio.run(BleuScore().ascore(reference=reference, response=prediction))
    rouge = asyncio.run(RougeScore().ascore(reference=same, response=same))
    return {
        "ragas, BLEU": float(bleu.value),
        "ragas, identical Chinese": float(rouge.value),
        "ragas, failed": safe_nanmean([1.0, *[float("nan")] * 3]),
    }


def deepeval(problems: Path) -> dict[str, Any]:
    from deepeval.benchmarks.human_eval.human_eval import secure_exec
    from deepeval.scorer import Scorer

    same = CASES["chinese"][0]
    target, prediction = CASES["full stop"]
    with gzip.open(problems, "rt", encoding="utf-8") as file:
        tasks = [json.loads(line) for line in file]
    # As deepeval puts them together: the completed function, then the published test.
    wrong = [f"{task['prompt']}    return None\n\n{task['test']}" for task in tasks]
    return {
        "deepeval, identical Chinese": float(Scorer.rouge_score(same, same, "rougeL")),
        "deepeval, full stop": float(Scorer.quasi_exact_match_score(target, prediction)),
        "deepeval, wrong programs passed": sum(_passes(secure_exec, code) for code in wrong),
        "deepeval, programs": len(tasks),
    }


def _passes(execute: Any, code: str) -> bool:
    """Count as deepeval counts: whatever raises nothing has passed."""

    def late(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(10)
    try:
        execute(code)
    except Exception:  # noqa: BLE001 - deepeval's own rule
        return False
    finally:
        signal.alarm(0)
    return True


def nltk(wordnet: Path, folder: Path) -> dict[str, Any]:
    import nltk as package
    from nltk.translate.meteor_score import meteor_score

    target = folder / "corpora" / "wordnet"
    target.mkdir(parents=True)
    for file in wordnet.iterdir():
        if file.is_file():
            shutil.copy(file, target)
    # Only the numbers of these 45 lines are read.
    names = (f"{number:02d}\tname{number}\t1\n" for number in range(45))
    (target / "lexnames").write_text("".join(names), encoding="utf-8")
    package.data.path.insert(0, str(folder))
    reference, prediction = CASES["synonyms"]
    return {"nltk, synonyms": meteor_score([reference.split()], prediction.split())}


def llama_index() -> dict[str, Any]:
    from llama_index.core.evaluation.retrieval.metrics import MRR, NDCG, AveragePrecision

    found, relevant = CASES["chunks of one document"], CASES["relevant"]
    given: dict[str, Any] = {"expected_ids": relevant, "retrieved_ids": found}
    try:
        nothing = str(MRR().compute(expected_ids=relevant, retrieved_ids=[]).score)
    except ValueError as error:
        nothing = f"ValueError: {error}"
    return {
        "llama-index, average precision": AveragePrecision().compute(**given).score,
        "llama-index, ndcg": NDCG().compute(**given).score,
        "llama-index, nothing found": nothing,
    }


def haystack() -> dict[str, Any]:
    from haystack import Document
    from haystack.components.evaluators import DocumentMAPEvaluator

    found = [Document(content=name) for name in CASES["chunks of one document"]]
    relevant = [Document(content=name) for name in CASES["relevant"]]
    return {"haystack, average precision": DocumentMAPEvaluator().run([relevant], [found])["score"]}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
