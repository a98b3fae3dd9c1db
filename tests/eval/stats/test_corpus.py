"""Paired bootstrap and approximate randomisation of BLEU give the published p-values."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ragkit.errors import UsageError
from ragkit_eval.metrics.bleu import corpus_bleu
from ragkit_eval.stats.corpus import bootstrap_p_values, randomisation_p_values

MOSES = "moses_paired_bootstrap_bleu_p (2000 samples)"
BLEU = corpus_bleu()
MULTEVAL = "multeval_ar_p (bleu,ter; 10000 trials)"
# Those whose published p-values are over 0.001, and one of the seven others, which are all alike;
# the self-test's own test has all fifteen.
SYSTEMS = tuple(
    f"newstest2017.{name}.en-de"
    for name in (
        *("FBK.4870", "KIT.4950", "LMU-nmt-reranked.4934", "LMU-nmt-single.4893", "online-B.0"),
        *("RWTH-nmt-ensemble.4921", "SYSTRAN.4847", "xmu.4910", "C-3MA.4959"),
    )
)


@pytest.fixture(scope="module")
def golden(data: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(
        (data / "oracles" / "wmt17" / "golden_p_values.json").read_text()
    )
    assert len(read[MOSES]) == len(read[MULTEVAL]) == 15
    for table in (MOSES, MULTEVAL):
        read[table] = {name: read[table][name] for name in SYSTEMS}
    return read


@pytest.fixture(scope="module")
def counted(data: Path, golden: dict[str, Any]) -> dict[str, NDArray[np.float64]]:
    path = data / "oracles" / "wmt17" / "wmt17_en_de_systems.json.gz"
    with gzip.open(path) as file:
        read = json.load(file)
    references = [[segment] for segment in read["refs"][0]]
    return {
        name: corpus_bleu(golden["bleu_tokenize"]).count(segments, references)
        for name, segments in read["systems"].items()
        if name in (*SYSTEMS, golden["baseline"])
    }


def test_the_published_p_values_of_moses(
    golden: dict[str, Any], counted: dict[str, NDArray[np.float64]]
) -> None:
    names = list(golden[MOSES])
    p_values = bootstrap_p_values(
        counted[golden["baseline"]],
        [counted[name] for name in names],
        BLEU.score,
        samples=10_000,
        centring="moses",
    )
    off = {n: abs(p - golden[MOSES][n]) for n, p in zip(names, p_values, strict=True)}
    assert max(off.values()) <= golden["tolerance"], off


def test_the_published_p_values_of_multeval(
    golden: dict[str, Any], counted: dict[str, NDArray[np.float64]]
) -> None:
    # Published p-values are random themselves: theirs of 0.585 has a standard error of 0.005, and
    # 200,000 of our draws come to 0.574, so that one may be off by just over 0.01 with other seeds.
    names = list(golden[MULTEVAL])
    p_values = randomisation_p_values(
        counted[golden["baseline"]], [counted[name] for name in names], BLEU.score, samples=20_000
    )
    off = {n: abs(p - golden[MULTEVAL][n][0]) for n, p in zip(names, p_values, strict=True)}
    assert max(off.values()) <= golden["tolerance"], off


def test_the_sound_bootstrap_agrees_with_randomisation_where_moses_does_not(
    golden: dict[str, Any], counted: dict[str, NDArray[np.float64]]
) -> None:
    name = "newstest2017.LMU-nmt-single.4893.en-de"
    (sound,) = bootstrap_p_values(counted[golden["baseline"]], [counted[name]], BLEU.score)
    assert sound == pytest.approx(golden[MULTEVAL][name][0], abs=0.03)
    assert golden[MOSES][name] < sound / 2


def test_the_summed_score_is_sacrebleus() -> None:
    sacrebleu = pytest.importorskip("sacrebleu")
    predictions = ["The cat sat on the mat today.", "A dog barks at the moon."]
    references = [["The cat sat on the mat."], ["The dog barks at the full moon."]]
    expected = sacrebleu.corpus_bleu(predictions, [[r[0] for r in references]]).score / 100
    score = BLEU.score(BLEU.count(predictions, references).sum(0)[None])[0]
    assert score == pytest.approx(expected)


def test_no_match_is_a_zero_and_no_warning() -> None:
    assert BLEU.score(BLEU.count(["a b"], [["c d"]]).sum(0)[None])[0] == 0.0


def test_a_system_does_not_differ_from_itself() -> None:
    system = BLEU.count(["a b c d e", "f g h i j"], [["a b c d e"], ["f g h i k"]])
    assert bootstrap_p_values(system, [system], BLEU.score, samples=200) == [1.0]
    assert randomisation_p_values(system, [system], BLEU.score, samples=200) == [1.0]


def test_systems_of_unequal_lengths_are_refused() -> None:
    with pytest.raises(UsageError, match="cannot be paired"):
        bootstrap_p_values(np.ones((3, 10)), [np.ones((2, 10))], BLEU.score)
    with pytest.raises(UsageError, match="1 predictions and 0 items"):
        BLEU.count(["a"], [])
