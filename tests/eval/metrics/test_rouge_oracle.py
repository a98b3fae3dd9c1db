"""ROUGE against what the original ROUGE-1.5.5 printed for 25 documents: all 4,480 values.

rouge155/golden.jsonl holds the program's output for four systems, with one and with four
references, with and without -m (stemming), skip distance 4 and any: a line per document and one
per average with its interval out of 1,000 bootstrap resamples.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from ragkit_eval.metrics.rouge import Rouge
from ragkit_eval.metrics.rouge_l import rouge_l, rouge_lsum
from ragkit_eval.metrics.rouge_n import rouge_n
from ragkit_eval.metrics.rouge_s import rouge_s
from ragkit_eval.metrics.rouge_w import rouge_w
from ragkit_eval.metrics.wordnet import open_wordnet

PRINTED = 1e-5  # five decimals
STATISTICS = ("R", "P", "F")


@pytest.fixture(scope="module")
def golden(data: Path) -> list[dict[str, Any]]:
    lines = (data / "oracles/rouge155/golden.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 4480
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def texts(data: Path) -> dict[str, Any]:
    texts: dict[str, Any] = json.loads((data / "oracles/rouge155/sl2003_plain.json").read_text())
    return texts


def test_every_document_without_stemming(
    golden: list[dict[str, Any]], texts: dict[str, Any]
) -> None:
    checked = 0
    for line, scores in _documents(golden, texts, stem=False):
        for statistic in STATISTICS:
            assert scores[statistic] == pytest.approx(line[statistic], abs=PRINTED), line
            checked += 1
    assert checked == 2 * 4 * 10 * 25 * 3


def test_every_document_with_stemming(golden: list[dict[str, Any]], texts: dict[str, Any]) -> None:
    """The program looks a word up in WordNet's exception lists before its rules, as here."""
    if open_wordnet() is None:
        pytest.skip("without WordNet's exception lists: apt-get install wordnet-base")
    checked = 0
    for line, scores in _documents(golden, texts, stem=True):
        for statistic in STATISTICS:
            assert scores[statistic] == pytest.approx(line[statistic], abs=PRINTED), line
            checked += 1
    assert checked == 2 * 4 * 10 * 25 * 3


@pytest.mark.parametrize("stem", [False, True])
def test_every_average_and_its_interval(golden: list[dict[str, Any]], stem: bool) -> None:
    """An average is that of the program's own resamples, so that it is off the plain mean.

    It draws documents by Perl's rand, seeded with the number of the resample.
    """
    values: dict[tuple[Any, ...], list[float]] = {}
    for line in golden:
        if line["kind"] == "doc":
            for statistic in STATISTICS:
                values.setdefault((*_key(line), statistic), []).append(line[statistic])
    averages = [line for line in golden if line["kind"] == "avg" and line["stem"] == stem]
    for line in averages:
        reproduced = values[(*_key(line), line["stat"])]
        means = sorted(
            sum(reproduced[i] for i in drawn) / len(reproduced) for drawn in _draws(len(reproduced))
        )
        assert sum(means) / len(means) == pytest.approx(line["value"], abs=PRINTED)
        # the 2.5th and 97.5th of a hundred, as the program counts them
        assert means[25] == pytest.approx(line["lo"], abs=PRINTED) or means[24] == pytest.approx(
            line["lo"], abs=PRINTED
        )
        assert means[974] == pytest.approx(line["hi"], abs=PRINTED) or means[975] == pytest.approx(
            line["hi"], abs=PRINTED
        )
    assert len(averages) == 240


def _documents(
    golden: list[dict[str, Any]], texts: dict[str, Any], *, stem: bool
) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    for line in golden:
        if line["kind"] == "doc" and line["stem"] == stem:
            prediction = "\n".join(texts["systems"][line["doc"]][line["system"]])
            models = texts["models"][line["doc"]]
            chosen = ["A"] if line["refs"] == "single_A" else sorted(models)
            references = ["\n".join(models[name]) for name in chosen]
            yield line, _as_printed(_scored(line["metric"], prediction, references, stem))


def _scored(metric: str, prediction: str, references: list[str], stem: bool) -> Rouge:
    kind = metric.removeprefix("ROUGE-")
    if kind.isdigit():
        return rouge_n(prediction, references, n=int(kind), stem=stem, several="pool")
    if kind == "L":
        scores = rouge_l(prediction, references, stem=stem, several="pool")
        assert scores == rouge_lsum(prediction, references, stem=stem, several="pool")
        return scores
    if kind == "W-1.2":
        return rouge_w(prediction, references, stem=stem, several="pool", original=True)
    gap = kind.removeprefix("SU").removeprefix("S")
    return rouge_s(
        prediction,
        references,
        skip=None if gap == "*" else int(gap),
        unigrams=kind.startswith("SU"),
        stem=stem,
        several="pool",
        original=True,
    )


def _as_printed(scores: Rouge) -> dict[str, float]:
    """Compute F as the program does, out of the five decimals that it prints of P and R."""
    precision, recall = round(scores.precision, 5), round(scores.recall, 5)
    f = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    assert scores.f == pytest.approx(f, abs=2 * PRINTED)
    return {"P": scores.precision, "R": scores.recall, "F": f}


def _key(line: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(line[name] for name in ("refs", "stem", "skip", "system", "metric"))


@cache
def _draws(count: int) -> list[list[int]]:
    """Draw as Perl's srand and rand do: drand48, a linear congruential generator of 48 bits."""
    draws = []
    for seed in range(1000):
        state, drawn = (seed << 16) + 0x330E, []
        for _ in range(count):
            state = (state * 0x5DEECE66D + 0xB) % (1 << 48)
            drawn.append(int(state / (1 << 48) * count))
        draws.append(drawn)
    return draws
