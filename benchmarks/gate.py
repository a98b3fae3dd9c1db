"""Fail when ragkit finds or answers worse than the committed baseline: `make gate`.

It asks a part of CLAPNQ and of CMRC 2018 with the embedded default and judges the run by
`ragkit eval gate`. With --update the run becomes the baseline, without any text of the sets.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.data import ROOT
from ragkit_eval.record import Record, header_line, read_run, record_line

BASELINE = Path(__file__).with_name("baseline.jsonl")
QUESTIONS = 150  # of each kind of CLAPNQ's: the whole takes about a minute on two cores
PARAGRAPHS = 60  # of CMRC 2018
# Weights in bf16 instead of fp32 move answer_score and refused_rightly by 0.002, the others not.
MARGINS = {
    "answer_score": 0.02,
    "contains": 0.02,
    "ndcg@10": 0.01,
    "recall@10": 0.01,
    "refused_rightly": 0.02,
}


def main(*, update: bool) -> int:
    data = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT / "../shared/data")).resolve()
    if not data.is_dir():
        print(f"gate left out: there is no test data in {data}; name it with RAGKIT_TEST_DATA")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.chmod(folder, 0o711)  # as root PostgreSQL runs as another user
        sets = _sets(data / "retrieval", Path(folder))
        run = Path(folder, "candidate.jsonl")
        ragkit = [sys.executable, "-m", "ragkit", "eval"]
        environment = os.environ | {"RAGKIT_HOME": str(Path(folder, "home"))}
        asked = [*ragkit, "rag", *map(str, sets), "--documents", "--out", str(run)]
        subprocess.run(asked, env=environment, check=True, stdout=subprocess.DEVNULL)
        if update:
            _keep(run)
            return 0
        judged = [*ragkit, "gate", "--baseline", str(BASELINE), "--candidate", str(run)]
        for metric, margin in MARGINS.items():
            judged += ["--metric", f"{metric}={margin}"]
        return subprocess.run(judged, env=environment, check=False).returncode


def _sets(published: Path, folder: Path) -> list[Path]:
    """Write the parts that are asked; their names are the task's."""
    sets = []
    for kind in ("answerable", "unanswerable"):
        text = (published / f"clapnq_dev_{kind}.jsonl").read_text(encoding="utf-8")
        sets.append(folder / f"clapnq_{kind}.jsonl")
        lines = text.split("\n")[:QUESTIONS]
        sets[-1].write_text("\n".join(lines) + "\n", encoding="utf-8")
    squad = json.loads((published / "cmrc2018_dev.json").read_text(encoding="utf-8"))
    articles, left = [], PARAGRAPHS
    for article in squad["data"]:
        paragraphs = article["paragraphs"][:left]
        left -= len(paragraphs)
        articles += [{**article, "paragraphs": paragraphs}] if paragraphs else []
    sets.append(folder / "cmrc.json")
    sets[-1].write_text(json.dumps({**squad, "data": articles}), encoding="utf-8")
    return sets


def _keep(run: Path) -> None:
    """Write the baseline: scores alone, no question, answer or passage."""
    read = read_run(run, texts=False)
    lines = [header_line(replace(read.header, label="baseline"))]
    lines += [record_line(_scores(record)) for record in read.records]
    BASELINE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{BASELINE}: {len(read.records)} items")


def _scores(record: Record) -> Record:
    return replace(record, targets=(), prediction="", latency_s=0.0, first_token_s=None, usage={})


if __name__ == "__main__":
    sys.exit(main(update=sys.argv[1:] == ["--update"]))
