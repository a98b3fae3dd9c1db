"""Stands in for a Python that has llm-compressor: answers as the worker would, or fails.

What it does is read from the recipe's ignore list, which the test chooses: "fail", "die", "hang".
"""

import json
import os
import signal
import sys
import threading
from pathlib import Path

if sys.argv[1] == "-c":  # the question whether llm-compressor is there
    sys.exit(0)
job_file = Path(sys.argv[2])
job = json.loads(job_file.read_text(encoding="utf-8"))
print("stage: loading the model", flush=True)
output = Path(job["output"])
(output / "model.safetensors").write_bytes(b"half")
(output / "config.json").write_text("{}")
if '"hang"' in job["recipe"]:
    Path(job["model"], "worker.pid").write_text(str(os.getpid()))
    threading.Event().wait()
if '"die"' in job["recipe"]:
    os.kill(os.getpid(), signal.SIGKILL)
if '"fail"' in job["recipe"]:
    sys.exit(
        "Traceback\nValueError: this architecture is not supported\n\nUpgrade and try again.\n"
    )
print("(1/3): Calibrating:  50%|##   | 1/2\r(1/3): Calibrating: 100%|####| 2/2", flush=True)
rows = Path(job["samples"]).read_text(encoding="utf-8").splitlines() if job["samples"] else []
answer = {"samples": len(rows), "tokens": 10 * len(rows), "versions": {"llmcompressor": "0.14.0"}}
job_file.with_name("result.json").write_text(json.dumps(answer), encoding="utf-8")
