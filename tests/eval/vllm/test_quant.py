"""`ragkit eval quant` on the real vLLM: one model in 32 bits and in 16, each served in turn."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ragkit_eval.run.record import read_run
from tests.eval.vllm.tiny import make_answering_llama
from tests.places import ROOT
from tests.serve.vllm.served import vllm_python
from tests.serve.vllm.started import FEWER_PROCESSES

pytestmark = pytest.mark.vllm


def test_two_precisions_are_served_asked_and_compared(data: Path, tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RAGKIT_", "VLLM_"))}
    environment |= FEWER_PROCESSES
    environment |= {"RAGKIT_VLLM_PYTHON": str(vllm_python()), "RAGKIT_HOME": str(tmp_path / "home")}
    folder = tmp_path / "tiny"
    make_answering_llama(folder, data / "tasks" / "mmlu" / "dev")
    options = "--max-model-len 4096 --cpu-kv-cache-gib 1 --enforce-eager --dtype"
    out = tmp_path / "out"
    command = [sys.executable, "-m", "ragkit", "eval", "quant", "--task", "mmlu", "--limit", "60"]
    command += ["--group", "anatomy"]
    command += [
        f"whole=serve:{folder} {options} float32",
        f"half=serve:{folder} {options} bfloat16",
    ]
    command += ["--data", str(data / "tasks"), "--out", str(out), "--json"]
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=580, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    found = json.loads(done.stdout)
    (cost,) = found["costs"]
    assert (found["base"], cost["candidate"], cost["items"]) == ("whole", "half", 60)
    # Rounding to 8 bits of mantissa changes a letter here and there, no more.
    assert cost["agreement"] > 0.8
    assert cost["broken"] + cost["fixed"] <= 60 * (1 - cost["agreement"]) + 1e-9
    runs = [read_run(Path(path)) for path in found["runs"]]
    assert [run.header.model["server_args"].split()[-1] for run in runs] == ["float32", "bfloat16"]
