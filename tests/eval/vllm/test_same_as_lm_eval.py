"""MMLU on a real vLLM: what ragkit predicts and what lm-evaluation-harness 0.4.13 predicts.

Both ask the same server. The harness brings its own prompts, examples and tokens: only the place of
the data is given to it.
"""

import csv
import io
import json
import os
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from ragkit_eval.run.record import Record, read_run
from tests.commands import run
from tests.eval.vllm.tiny import make_answering_llama
from tests.places import ROOT
from tests.serve.vllm.served import vllm_python
from tests.serve.vllm.started import FEWER_PROCESSES, free_port, started

pytestmark = pytest.mark.vllm

SUBJECTS = ("anatomy", "high_school_physics", "world_religions")
QUESTIONS = 20  # of each subject


@dataclass(frozen=True)
class Sample:
    """What the harness logged of one question: its prompt and a log-likelihood per letter."""

    prompt: str
    likelihoods: tuple[float, ...]
    acc: float

    @property
    def prediction(self) -> str:
        return "ABCD"[self.likelihoods.index(max(self.likelihoods))]


@pytest.fixture(scope="module")
def lm_eval() -> Path:
    variable = "RAGKIT_TEST_LMEVAL_PYTHON"
    file = Path(os.environ.get(variable, ROOT / ".venvs/lmeval/bin/python"))
    if not file.exists():
        pytest.skip(f"there is no {file}: make venvs, or set {variable}")
    return file


@pytest.fixture(scope="module")
def url(lm_eval: Path, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    python = vllm_python()
    folder = tmp_path_factory.mktemp("tiny")
    make_answering_llama(folder, data / "tasks" / "mmlu" / "dev")
    port = free_port()
    argv = [str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(folder)]
    # In whole precision, so that what shares a batch with a question does not change its answer.
    argv += ["--served-model-name", "tiny", "--dtype", "float32", "--max-model-len", "4096"]
    argv += ["--host", "127.0.0.1", "--port", str(port), "--enable-tokenizer-info-endpoint"]
    argv += ["--enforce-eager"]
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RAGKIT_", "VLLM_"))}
    environment |= {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
    environment |= FEWER_PROCESSES
    environment |= {"HF_HUB_OFFLINE": "1", "RAGKIT_LLM_API_KEY": "none"}
    log = folder / "log"
    with started(argv, environment, port=port, ready="/v1/models", log=log) as server:
        yield f"{server.url}/v1"


@pytest.fixture(scope="module")
def subset(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first questions of three subjects, in the layout in which MMLU is published."""
    folder = tmp_path_factory.mktemp("subset")
    for split in ("dev", "test"):
        (folder / "mmlu" / split).mkdir(parents=True)
        for subject in SUBJECTS:
            name = f"{subject}_{split}.csv"
            kept = _first((data / "tasks/mmlu" / split / name).read_text("utf-8"))
            (folder / "mmlu" / split / name).write_text(kept, "utf-8")
    return folder


@pytest.fixture(scope="module")
def theirs(
    lm_eval: Path, url: str, subset: Path, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, Sample]:
    """What the harness logs, by prompt."""
    folder = tmp_path_factory.mktemp("lm_eval")
    for subject in SUBJECTS:
        _write_task(folder, subject, subset, lm_eval)
    command = [str(lm_eval), "-m", "lm_eval", "run", "--model", "local-completions"]
    asked = {"model": "tiny", "base_url": f"{url}/completions", "tokenizer_backend": "remote"}
    asked |= {"num_concurrent": "8", "max_length": "4096"}
    command += ["--model_args", ",".join(f"{name}={value}" for name, value in asked.items())]
    command += ["--tasks", ",".join(f"same_{subject}" for subject in SUBJECTS)]
    command += ["--include_path", str(folder), "--num_fewshot", "5"]
    command += ["--log_samples", "--output_path", str(folder / "out")]
    own = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(folder / "hf")}
    own |= {"OPENAI_API_KEY": "none"}
    done = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    samples = {}
    for file in (folder / "out").rglob("samples_*.jsonl"):
        for line in file.read_text("utf-8").splitlines():
            sample = _sample(json.loads(line))
            samples[sample.prompt] = sample
    assert len(samples) == QUESTIONS * len(SUBJECTS)
    return samples


def ours(task: str, url: str, subset: Path, out: Path) -> Mapping[str, Record]:
    """What ragkit's command keeps, by prompt."""
    options = ("--data", str(subset), "--out", str(out), "--concurrency", "8")
    result = run("eval", "run", task, "--url", url, *options)
    assert result.returncode == 0, result.stderr
    return {record.prompt: record for record in read_run(out).records}


def test_likelihoods_and_predictions_are_the_harness_s(
    theirs: Mapping[str, Sample], url: str, subset: Path, tmp_path: Path
) -> None:
    mine = ours("mmlu:lm-eval", url, subset, tmp_path / "run.jsonl")
    assert mine.keys() == theirs.keys()  # the prompts, byte for byte
    for prompt, sample in theirs.items():
        record = mine[prompt]
        told = [one["logprob"] for one in record.detail["likelihoods"]]
        assert told == pytest.approx(sample.likelihoods, abs=1e-3)
        assert record.prediction == sample.prediction
        assert record.scores["acc"] == sample.acc
    predictions = Counter(sample.prediction for sample in theirs.values())
    assert predictions.most_common(3)[-1][1] >= 5, predictions  # or it would be a test of little


def test_one_request_a_question_predicts_the_same(
    theirs: Mapping[str, Sample], url: str, subset: Path, tmp_path: Path
) -> None:
    mine = ours("mmlu:lm-eval-letter", url, subset, tmp_path / "run.jsonl")
    assert mine.keys() == theirs.keys()
    complete = 0
    for prompt, sample in theirs.items():
        record = mine[prompt]
        top = dict(record.detail["top"])  # twenty tokens, rarely without one of the letters
        harness = dict(zip("ABCD", sample.likelihoods, strict=True))
        told = {letter: top[f" {letter}"] for letter in "ABCD" if f" {letter}" in top}
        assert told == pytest.approx({letter: harness[letter] for letter in told}, abs=1e-3)
        assert record.fallback == (not told)
        if told:  # any letter there is the likeliest one, or stands after it
            assert record.prediction == sample.prediction
        complete += len(told) == 4
    assert complete > 0.8 * len(theirs)


def _first(text: str) -> str:
    """Keep a CSV's header, if it has one, and its first rows."""
    rows = list(csv.reader(io.StringIO(text)))
    kept = rows[: QUESTIONS + (rows[0][0] == "question")]
    told = io.StringIO()
    csv.writer(told).writerows(kept)
    return told.getvalue()


def _write_task(folder: Path, subject: str, subset: Path, python: Path) -> None:
    """Point the harness's own task at local files, in the shape that the hub has."""
    files = {}
    for split in ("dev", "test"):
        files[split] = str(folder / f"{subject}.{split}.jsonl")
        with (subset / "mmlu" / split / f"{subject}_{split}.csv").open(newline="") as rows:
            lines = [
                {"question": q, "choices": options, "answer": _index(answer)}
                for q, *options, answer in csv.reader(rows)
                if (q, answer) != ("question", "answer")
            ]
        Path(files[split]).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    place = f"*/site-packages/lm_eval/tasks/mmlu/default/mmlu_{subject}.yaml"
    (included,) = (python.parent.parent / "lib").glob(place)
    task = {
        "include": str(included),
        "task": f"same_{subject}",
        "dataset_path": "json",
        "dataset_name": None,
        "dataset_kwargs": {"data_files": files},
    }
    (folder / f"{subject}.yaml").write_text(json.dumps(task))  # JSON is YAML


def _index(answer: str) -> int:
    return "ABCD".index(answer) if answer in "ABCD" else int(answer)


def _sample(line: dict[str, object]) -> Sample:
    arguments, answers = line["arguments"], line["resps"]
    assert isinstance(arguments, dict)
    assert isinstance(answers, list)
    acc = line["acc"]
    assert isinstance(acc, int | float)
    likelihoods = tuple(float(answer[0][0]) for answer in answers)
    return Sample(arguments["gen_args_0"]["arg_0"], likelihoods, float(acc))
