"""Check the ROUGE family against the output of ROUGE-1.5.5, per document."""

import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ragkit_eval.metrics.rouge import Rouge, Several, balanced
from ragkit_eval.metrics.rouge_l import rouge_lsum
from ragkit_eval.metrics.rouge_n import rouge_n
from ragkit_eval.metrics.rouge_s import rouge_s
from ragkit_eval.metrics.rouge_w import rouge_w
from ragkit_eval.metrics.wordnet import open_wordnet
from ragkit_eval.selftest.check import Check, agreement, left_out

_METRICS: dict[str, Callable[..., Rouge]] = {
    **{f"ROUGE-{n}": partial(rouge_n, n=n) for n in (1, 2, 3, 4)},
    "ROUGE-L": rouge_lsum,
    "ROUGE-W-1.2": partial(rouge_w, weight=1.2, original=True),
    "ROUGE-S4": partial(rouge_s, skip=4, original=True),
    "ROUGE-S*": partial(rouge_s, original=True),
    "ROUGE-SU4": partial(rouge_s, skip=4, unigrams=True, original=True),
    "ROUGE-SU*": partial(rouge_s, unigrams=True, original=True),
}
_REFERENCES: dict[str, tuple[str, Several]] = {
    "single_A": ("A", "best"),
    "multi4_jackknife": ("ABCD", "pool"),
}


def checks(folder: Path) -> Iterator[Check]:
    """Check every document's values; `folder` has golden.jsonl and its texts.

    Averages are left out, because the program prints those of its random resamples.
    """
    texts = json.loads((folder / "sl2003_plain.json").read_text(encoding="utf-8"))
    expected: dict[bool, dict[str, float]] = {False: {}, True: {}}
    measured: dict[bool, dict[str, float]] = {False: {}, True: {}}
    for line in (folder / "golden.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["kind"] != "doc":
            continue
        name = f"{row['metric']} of system {row['system']}, {row['doc']}, {row['refs']}"
        score = _score(texts, row)
        # F is computed from the five printed decimals of P and R.
        printed = balanced(round(score.precision, 5), round(score.recall, 5))
        values = {"R": score.recall, "P": score.precision, "F": printed.f}
        stem = bool(row["stem"])
        expected[stem] |= {f"{name}, {short}": row[short] for short in values}
        measured[stem] |= {f"{name}, {short}": value for short, value in values.items()}
    subject, oracle = "ROUGE-N, -L, -W, -S, -SU, texts of one line", "ROUGE-1.5.5"
    yield agreement(subject, oracle, expected[False], measured[False], within=1e-5)
    if open_wordnet() is None:
        reason = "no WordNet, whose exception lists the stemmer reads: apt-get install wordnet-base"
        yield left_out(f"{subject}, stemmed", f"{oracle} -m", reason)
        return
    yield agreement(
        f"{subject}, stemmed", f"{oracle} -m", expected[True], measured[True], within=1e-5
    )


def _score(texts: dict[str, dict[str, dict[str, Sequence[str]]]], row: dict[str, str]) -> Rouge:
    letters, several = _REFERENCES[row["refs"]]
    references = ["\n".join(texts["models"][row["doc"]][letter]) for letter in letters]
    prediction = "\n".join(texts["systems"][row["doc"]][row["system"]])
    metric = _METRICS[row["metric"]]
    return metric(prediction, references, stem=bool(row["stem"]), several=several)
