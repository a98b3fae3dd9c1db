"""Fail when ragkit finds or answers worse than the committed baselines: `make gate`.

It asks a part of CLAPNQ and of CMRC 2018, and everyday questions of a mixed collection, with the
embedded default and judges the runs by `ragkit eval gate`. With --update the runs become the
baselines, without any text of the sets.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from benchmarks.data import ROOT
from benchmarks.everyday_set import NAMES, questions, write_mixed
from ragkit_eval.run.record import Record, header_line, read_run, record_line

BASELINE = Path(__file__).with_name("baseline.jsonl")
EVERYDAY = Path(__file__).with_name("baseline-everyday.jsonl")
RAGKIT = (sys.executable, "-m", "ragkit")
QUESTIONS = 150  # of each kind of CLAPNQ's
PARAGRAPHS = 60  # of CMRC 2018
# Weights in bf16 instead of fp32 move answer_score and refused_rightly by 0.002, the others not.
MARGINS = {
    "answer_score": 0.02,
    "contains": 0.02,
    "ndcg@10": 0.01,
    "recall@10": 0.01,
    "refused_rightly": 0.02,
}
EVERYDAY_MARGINS = {"contains": 0.02, "refused_rightly": 0.02}


def main(*, update: bool) -> int:
    data = Path(os.environ.get("RAGKIT_TEST_DATA", ROOT / "../shared/data")).resolve()
    if not data.is_dir():
        print(f"gate left out: there is no test data in {data}; name it with RAGKIT_TEST_DATA")
        return 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        os.chmod(folder, 0o711)  # as root PostgreSQL runs as another user
        runs = ((_ask_sets, BASELINE, MARGINS), (_ask_everyday, EVERYDAY, EVERYDAY_MARGINS))
        # Two programs of one thread each share two cores better than one program of two threads.
        with ThreadPoolExecutor(len(runs)) as pool:
            asked = [
                pool.submit(ask, folder, data, folder / baseline.name) for ask, baseline, _ in runs
            ]
            for future in asked:
                future.result()
        failed = 0
        for _, baseline, margins in runs:
            run = folder / baseline.name
            if update:
                _keep(run, baseline)
            else:
                failed = max(failed, _judge(run, baseline, margins))
        return failed


def _ask_sets(folder: Path, data: Path, run: Path) -> None:
    """Ask CLAPNQ's and CMRC 2018's questions of their own documents."""
    sets = map(str, _sets(data / "retrieval", folder))
    _ragkit(folder / "home-sets", "eval", "rag", *sets, "--documents", "--out", str(run))


def _ask_everyday(folder: Path, data: Path, run: Path) -> None:
    """Ask the everyday questions of the mixed collection."""
    home, mixed, collection = folder / "home-everyday", folder / "mixed", ("-c", "everyday")
    write_mixed(mixed)
    # Some of the files of many formats are broken on purpose: exit code 3.
    _ragkit(home, "ingest", str(mixed), *collection, codes=(0, 3))
    _ragkit(home, "eval", "rag", str(_everyday(folder)), *collection, "--out", str(run))


def _ragkit(home: Path, *arguments: str, codes: Sequence[int] = (0,)) -> None:
    """Run a command in one thread; raise RuntimeError when it ends with another code."""
    environment = os.environ | {"RAGKIT_HOME": str(home), "OMP_NUM_THREADS": "1"}
    command = [*RAGKIT, *arguments]
    done = subprocess.run(command, env=environment, check=False, stdout=subprocess.DEVNULL)
    if done.returncode not in codes:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}")


def _judge(run: Path, baseline: Path, margins: Mapping[str, float]) -> int:
    command = [*RAGKIT, "eval", "gate", "--baseline", str(baseline), "--candidate", str(run)]
    for metric, margin in margins.items():
        command += ["--metric", f"{metric}={margin}"]
    return subprocess.run(command, check=False).returncode


def _everyday(folder: Path) -> Path:
    """Write the everyday questions as a labelled set; a list's parts are answers of their own."""
    path = folder / "everyday.jsonl"
    rows = [
        {
            "id": asked.id,
            "question": asked.question,
            "answers": [*asked.answers, *asked.all_of],
            "group": asked.document or asked.id,
        }
        for language in NAMES
        for asked in questions(language)
    ]
    lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
    path.write_text("".join(lines), encoding="utf-8")
    return path


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


def _keep(run: Path, baseline: Path) -> None:
    """Write a baseline: scores alone, no question, answer or passage."""
    read = read_run(run, texts=False)
    lines = [header_line(replace(read.header, label="baseline"))]
    lines += [record_line(_scores(record)) for record in read.records]
    baseline.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{baseline}: {len(read.records)} items")


def _scores(record: Record) -> Record:
    return replace(record, targets=(), prediction="", latency_s=0.0, first_token_s=None, usage={})


if __name__ == "__main__":
    sys.exit(main(update=sys.argv[1:] == ["--update"]))
