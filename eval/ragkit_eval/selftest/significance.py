"""Check significance tests against published p-values of 15 WMT 2017 systems and a baseline."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from ragkit_eval.metrics.bleu import corpus_bleu
from ragkit_eval.selftest.check import Check, agreement
from ragkit_eval.stats.corpus import bootstrap_p_values, randomisation_p_values

_MOSES = "moses_paired_bootstrap_bleu_p (2000 samples)"
_MULTEVAL = "multeval_ar_p (bleu,ter; 10000 trials)"


def checks(folder: Path) -> Iterator[Check]:
    """Check BLEU's p-values; `folder` has the segments and the p-values of Moses and MultEval."""
    golden = json.loads((folder / "golden_p_values.json").read_text(encoding="utf-8"))
    with gzip.open(folder / "wmt17_en_de_systems.json.gz", "rt", encoding="utf-8") as file:
        read = json.load(file)
    references = [[segment] for segment in read["refs"][0]]
    bleu = corpus_bleu(golden["bleu_tokenize"])
    statistics = {
        name: bleu.count(segments, references) for name, segments in read["systems"].items()
    }
    baseline, within = statistics[golden["baseline"]], golden["tolerance"]
    moses = golden[_MOSES]
    p_values = bootstrap_p_values(
        baseline, [statistics[name] for name in moses], bleu.score, centring="moses"
    )
    by_system = dict(zip(moses, p_values, strict=True))
    yield agreement("paired bootstrap", "Moses, BLEU", moses, by_system, within=within)
    multeval = {name: p for name, (p, _) in golden[_MULTEVAL].items()}
    p_values = randomisation_p_values(
        baseline, [statistics[name] for name in multeval], bleu.score, samples=20_000
    )
    by_system = dict(zip(multeval, p_values, strict=True))
    yield agreement(
        "approximate randomisation", "MultEval, BLEU", multeval, by_system, within=within
    )
