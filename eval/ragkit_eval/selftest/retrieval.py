"""Check retrieval metrics against the output of trec_eval, per query and on average."""

from collections.abc import Iterator
from pathlib import Path

from ragkit_eval.retrieval import evaluate_run, read_qrels, read_trec_run
from ragkit_eval.selftest.check import Check, agreement

_DEPTHS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
# trec_eval's names, and ragkit's.
_NAMES = {"map": "map", "Rprec": "r_precision", "bpref": "bpref", "recip_rank": "mrr"}
_NAMES |= {"ndcg": "ndcg", "rbp": "rbp", "gm_map": "gm_map"}
_NAMES |= {f"P_{k}": f"precision@{k}" for k in _DEPTHS}
_NAMES |= {f"recall_{k}": f"recall@{k}" for k in _DEPTHS}
_NAMES |= {f"ndcg_cut_{k}": f"ndcg@{k}" for k in _DEPTHS}
_NAMES |= {f"map_cut_{k}": f"map@{k}" for k in _DEPTHS}
_NAMES |= {f"success_{k}": f"success@{k}" for k in (1, 5, 10)}


def checks(folder: Path) -> Iterator[Check]:
    """Check every printed value of ragkit's metrics; `folder` has trec_eval's files."""
    scores = evaluate_run(
        read_qrels(folder / "qrels.test"),
        read_trec_run(folder / "results.test"),
        sorted(set(_NAMES.values())),
    )
    means: dict[str, float] = {}
    per_query: dict[str, float] = {}
    for line in (folder / "out.test.aq").read_text(encoding="utf-8").splitlines():
        name, query, value = line.split()
        if name in _NAMES:
            (means if query == "all" else per_query)[f"{_NAMES[name]} of {query}"] = float(value)
    measured = {f"{name} of all": value for name, value in scores.mean.items()}
    for query, values in scores.per_query.items():
        measured |= {f"{name} of {query}": value for name, value in values.items()}
    # trec_eval prints four digits.
    yield agreement("retrieval metrics", "trec_eval, means", means, measured, within=5e-5)
    yield agreement("retrieval metrics", "trec_eval, per query", per_query, measured, within=5e-5)
