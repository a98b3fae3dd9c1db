"""A run's log, also while it is written."""

from pathlib import Path

from ragkit_tune.run.log import (
    Progress,
    describe_entry,
    parse_progress,
    read_entries,
    read_log,
    read_progress,
)

STEP = '{"step": 1, "loss": 2.5, "grad_norm": 0.75, "tokens": 64, "rows": ["r1", "r2"]}'
DEV = '{"step": 1, "dev": {"ndcg@10": 0.5, "mrr@10": 0.25}}'
REWARD = '{"step": 2, "reward": 0.5, "supported": 0.75, "covered": 0.25, "refused": 0.0}'
EVENT = '{"step": 1, "event": "checkpoint"}'


def test_a_log_is_read_as_far_as_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "steps.jsonl"
    assert read_log(path).steps == ()
    path.write_text(f"{STEP}\n{DEV}\nhalf {STEP}\n{EVENT}\n{REWARD}\n[1]\n{STEP[:20]}", "utf-8")
    log = read_log(path)
    assert [row["loss"] for row in log.steps] == [2.5]
    assert [row["dev"] for row in log.measurements] == [{"ndcg@10": 0.5, "mrr@10": 0.25}]
    assert [row["event"] for row in log.events] == ["checkpoint"]
    assert [describe_entry(entry) for entry in read_entries(path)] == [
        "step 1: loss 2.5, grad_norm 0.75, tokens 64 (rows r1, r2)",
        "step 1: dev ndcg@10 0.5000, mrr@10 0.2500",
        "step 1: checkpoint",
        "step 2: reward 0.5, supported 0.75, covered 0.25, refused 0.0",
    ]
    assert [row["reward"] for row in log.rewards] == [0.5]


def test_progress_is_the_last_step_of_the_output(tmp_path: Path) -> None:
    path = tmp_path / "worker.log"
    assert read_progress(path) is None
    path.write_text(
        "stage: loading\n" * 5000 + "step: 1/40 loss 3 grad 1 left 99 s\nstep: 2/40 loss 1.5 grad"
        " 0.5 2100 tokens/s left 95 s\nstage: saving\n",
        "utf-8",
    )
    assert read_progress(path) == Progress(2, 40, 1.5, 0.5, 2100.0, 95.0)


def test_other_lines_are_no_progress() -> None:
    assert parse_progress("stage: step: 1/40 loss 3 grad 1 left 99 s") is None
    assert parse_progress("step: 1/40 loss x grad 1 left 99 s") is None
