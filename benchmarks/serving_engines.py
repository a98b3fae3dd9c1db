"""vLLM behind `ragkit model serve` against transformers in process, by `ragkit model bench`."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.serving_model import CONTEXT_TOKENS, make_tiny_llama

ROOT = Path(__file__).resolve().parent.parent
RAGKIT = str(Path(sys.executable).with_name("ragkit"))
REQUESTS, ANSWER_TOKENS, LEVELS = 48, 32, "1,4,16"
_START_S = 400  # a CPU build was seen to need 31 to 100
_HEAD = "### vLLM and transformers\n"


def section() -> str:
    """Serve, measure, stop; a line says so where there is no vLLM."""
    python = Path(os.environ.get("RAGKIT_VLLM_PYTHON", ROOT / ".venvs/vllm/bin/python"))
    if not python.exists():
        return f"{_HEAD}\nLeft out: no environment with vLLM (RAGKIT_VLLM_PYTHON).\n"
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "tiny")
        weights = make_tiny_llama(model)
        env = _environment(Path(folder)) | {"RAGKIT_VLLM_PYTHON": str(python)}
        with _served(model, env) as ready:
            key = {} if ready["api_key"] is None else {"RAGKIT_LLM_API_KEY": ready["api_key"]}
            server = ["--url", ready["url"], "--model", ready["model"], "--concurrency", LEVELS]
            served = _bench(server, Path(folder, "server.json"), env | key)
        # When the server is gone, so that neither takes the other's memory or cores. A model this
        # small gains little by a second thread, and loses much where another program wants a core.
        alone = ["--baseline", f"local:{model}", "--baseline-requests", str(REQUESTS)]
        in_process = {
            threads: _bench(
                alone,
                Path(folder, f"transformers-{threads}.json"),
                env | {"OMP_NUM_THREADS": str(threads)},
            )
            for threads in sorted({1, len(os.sched_getaffinity(0))})
        }
    assert {served["workload"]["hash"]} == {r["workload"]["hash"] for r in in_process.values()}
    bases = {
        f"transformers, {threads} thread{'s' * (threads > 1)}": record["runs"][0]
        for threads, record in in_process.items()
    }
    return _table(bases, served["runs"], weights)


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of the caller's settings may change what is measured."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAGKIT_")}
    return kept | {"RAGKIT_HOME": str(folder / "home")}


@contextmanager
def _served(model: Path, env: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
    command = [RAGKIT, "model", "serve", str(model), "--port", "0", "--json"]
    command += ["--max-model-len", str(CONTEXT_TOKENS), "--cpu-kv-cache-gib", "1"]
    command += ["--start-timeout", str(_START_S), "--max-restarts", "0"]
    log = model.with_name("serve.log")
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=file, text=True, env=env, cwd=model.parent
        ) as process,
    ):
        try:
            yield _ready(process, log)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready(process: "subprocess.Popen[str]", log: Path) -> Mapping[str, Any]:
    assert process.stdout is not None
    said = ""
    for line in process.stdout:
        said += line
        if line.rstrip() == "}":
            value: Mapping[str, Any] = json.loads(said)
            return value
    tail = log.read_text(encoding="utf-8")[-2000:]
    raise SystemExit(f"ragkit model serve ended before it was ready:\n{tail}")


def _bench(options: Sequence[str], record: Path, env: Mapping[str, str]) -> Any:
    command = [RAGKIT, "model", "bench", *options, "--requests", str(REQUESTS), "--ignore-eos"]
    command += ["--answer-tokens", str(ANSWER_TOKENS), "--output", str(record)]
    done = subprocess.run(
        command, env=env, cwd=record.parent, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"ragkit model bench ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return json.loads(record.read_text(encoding="utf-8"))


def _table(bases: Mapping[str, Any], served: Sequence[Any], weights: int) -> str:
    base = max(bases.values(), key=lambda run: run["summary"]["output_tokens_per_s"])
    prompt = base["summary"]["prompt_tokens"]
    lines = [
        _HEAD,
        f"A Llama of {weights / 1e6:.1f} million untrained weights, served by `ragkit model serve`,"
        f" and in process by transformers ({base['model'].partition(' (')[2]}: the same {REQUESTS}"
        f" prompts of {prompt:.0f} tokens on average, {ANSWER_TOKENS} tokens each, greedy, by"
        " `ragkit model bench`, on the cores that the server and its clients share. Questions come"
        " in fours about the same passages; transformers has no prefix cache and runs one after"
        " the other; the ratio is to the faster of its rows. Milliseconds.\n",
        "| engine | at once | requests/s | tokens/s | ratio | first token p50 / p95"
        " | per token p50 / p95 | cached |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, run in [*bases.items(), *(("vLLM", run) for run in served)]:
        found = run["summary"]
        ratio = found["output_tokens_per_s"] / base["summary"]["output_tokens_per_s"]
        cached = found["cached_share"]
        lines.append(
            f"| {name} | {run['level']['concurrency']}"
            f" | {found['requests_per_s']:.2f} | {found['output_tokens_per_s']:.0f} | {ratio:.2f}"
            f" | {_ms(found['ttft_s'])} | {_ms(found['tpot_s'])}"
            f" | {'none' if cached is None else f'{cached:.0%}'} |"
        )
    return "\n".join(lines) + "\n"


def _ms(spread: Mapping[str, float]) -> str:
    return f"{1000 * spread['p50']:.1f} / {1000 * spread['p95']:.1f}"
