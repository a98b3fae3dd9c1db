"""Every measure against what trec_eval itself printed, per query and on average."""

import pytest

from ragkit_eval.retrieval import RunScores, evaluate_run, read_qrels, read_trec_run
from tests.places import DATA

ORACLE = DATA / "oracles" / "trec_eval"
pytestmark = pytest.mark.skipif(not ORACLE.is_dir(), reason=f"no trec_eval oracle at {ORACLE}")

WHOLE = {"ndcg": "ndcg", "map": "map", "recip_rank": "mrr", "Rprec": "r_precision"}
WHOLE |= {
    "bpref": "bpref",
    "rbp": "rbp",
    "gm_map": "gm_map",
    "set_recall": "recall",
    "set_P": "precision",
}
CUT = {"ndcg_cut": "ndcg", "map_cut": "map", "recall": "recall", "P": "precision"}
CUT |= {"success": "success"}


def name_of(printed: str) -> str | None:
    """Name one of trec_eval's measures as it is called here; None for those not built."""
    base, _, k = printed.rpartition("_")
    return f"{CUT[base]}@{k}" if base in CUT and k.isdigit() else WHOLE.get(printed)


def agreeing(file: str, run: str, qrels: str) -> int:
    """Count the printed values; each must be the one computed here, to its 4 digits."""
    printed = [line.split() for line in (ORACLE / file).read_text("utf-8").splitlines()]
    expected = [(name, query, value) for p, query, value in printed if (name := name_of(p))]
    scores = evaluate_run(
        read_qrels(ORACLE / qrels),
        read_trec_run(ORACLE / run),
        list(dict.fromkeys(name for name, _, _ in expected)),
    )
    for name, query, value in expected:
        of = scores.mean if query == "all" else scores.per_query[query]
        assert f"{of[name]:.4f}" == value, (name, query)
    return len(expected)


@pytest.mark.parametrize(
    ("file", "values"),
    [
        ("out.test", 14),  # trec_eval qrels.test results.test
        ("out.test.a", 48),  # ... -m all_trec
        ("out.test.aq", 189),  # ... -m all_trec -q: three queries and their mean
    ],
)
def test_measures_equal_trec_eval(file: str, values: int) -> None:
    assert agreeing(file, "results.test", "qrels.test") == values
    print(f"\ntrec_eval {file}: {values} printed values agree")


# trec_eval -m all_trec -q -l2 qrels.rel_level results.test, from test/out.test.aql of
# https://github.com/usnistgov/trec_eval; query 303 has documents judged -1
LEVEL_2 = {
    "map": (0.0003, 0.4175, 0.0823, 0.1667),
    "r_precision": (0.0, 0.5065, 0.0, 0.1688),
    "bpref": (0.0, 0.4712, 0.0, 0.1571),
    "mrr": (0.0033, 1.0, 0.0526, 0.3520),
    "precision@20": (0.0, 0.8, 0.05, 0.2833),
    "recall@100": (0.0, 0.5455, 0.8750, 0.4735),
    "ndcg": (0.1396, 0.6617, 0.3669, 0.3894),
    "ndcg@10": (0.0439, 0.7530, 0.0, 0.2656),
    "ndcg@100": (0.1390, 0.6046, 0.3294, 0.3577),
    "map@100": (0.0, 0.3983, 0.0729, 0.1571),
    "success@5": (0.0, 1.0, 0.0, 0.3333),
    "precision": (0.0020, 0.1, 0.0160, 0.0393),
    "recall": (0.0833, 0.6494, 1.0, 0.5776),
}


def test_a_relevance_level_equals_trec_eval() -> None:
    qrels, run = read_qrels(ORACLE / "qrels.rel_level"), read_trec_run(ORACLE / "results.test")
    scores = evaluate_run(qrels, run, list(LEVEL_2), level=2)
    for name, expected in LEVEL_2.items():
        values = (*(scores.per_query[q][name] for q in ("301", "302", "303")), scores.mean[name])
        assert [round(value, 4) for value in values] == list(expected), name


def test_all_judged_queries_count_as_in_trec_eval() -> None:
    qrels, run = read_qrels(ORACLE / "qrels.test"), read_trec_run(ORACLE / "results.test")
    both_sets = evaluate_run(qrels, run, ["map", "bpref"])
    del run["302"]
    scored, every = (
        evaluate_run(qrels, run, ["map", "bpref"], all_judged=a) for a in (False, True)
    )
    without_302 = {query: scores for query, scores in both_sets.per_query.items() if query != "302"}
    assert scored.per_query == without_302
    assert scored.left_out == ("302",)
    assert isinstance(every, RunScores)
    assert every.per_query == {**without_302, "302": {"map": 0.0, "bpref": 0.0}}
    assert every.mean["map"] == pytest.approx(sum(s["map"] for s in without_302.values()) / 3)
    assert every.left_out == ()


def test_queries_without_a_relevant_document_count_as_in_trec_evals_row_of_all() -> None:
    qrels, run = read_qrels(ORACLE / "qrels.test"), read_trec_run(ORACLE / "results.test")
    qrels["302"] = dict.fromkeys(qrels["302"], 0)
    names = ["map", "ndcg@10", "bpref", "err@20", "rbp", "gm_map"]
    left_out = evaluate_run(qrels, run, names)
    counted = evaluate_run(qrels, run, names, count_empty=True)
    assert left_out.left_out == ("302",)
    assert counted.left_out == ()
    assert counted.per_query["302"] == dict.fromkeys(names, 0.0)
    for name in names[:-1]:
        assert counted.mean[name] == pytest.approx(left_out.mean[name] * 2 / 3)
    # its value of a query without any is 0.00001
    assert counted.mean["gm_map"] == pytest.approx(
        (left_out.mean["gm_map"] ** 2 * 0.00001) ** (1 / 3)
    )
