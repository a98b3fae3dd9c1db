"""Run one of llama.cpp's tools, as a separate program: `python gguf_worker.py JOB.json`.

It runs in an environment that has the tool's packages, so it imports nothing of ragkit. A job is
one of {"script", "arguments"}: a Python script such as the converter; {"program", "arguments"}:
llama-quantize; {"input", "output", "type"}: two files and the number of a type, for the quantizer
in llama-cpp-python's library. Versions go into result.json beside the job.
"""

import ctypes
import json
import logging
import os
import re
import runpy
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


def main(job_file: str) -> None:
    """Run a job; exit with the tool's own code."""
    job = json.loads(Path(job_file).read_text(encoding="utf-8"))
    answer = Path(job_file).with_name("result.json")
    if "script" in job:
        answer.write_text(json.dumps(_versions(Path(job["script"]))), encoding="utf-8")
        _run_script(job["script"], job["arguments"])
    elif "program" in job:
        os.execv(job["program"], [job["program"], *job["arguments"]])  # noqa: S606  the user's own
    else:
        answer.write_text(
            json.dumps({"llama-cpp-python": version("llama_cpp_python")}), encoding="utf-8"
        )
        _quantize(job)


def _versions(script: Path) -> dict[str, str]:
    """Read the versions of llama.cpp's gguf package, which the script takes, and of the others."""
    found = {name: version(name) for name in ("transformers", "torch")}
    project = script.parent / "gguf-py" / "pyproject.toml"
    text = project.read_text(encoding="utf-8") if project.is_file() else ""
    own = re.search(r'^version = "([^"]*)"', text, re.MULTILINE)
    return ({"llama.cpp's gguf": own[1]} if own else {}) | found


def _run_script(script: str, arguments: list[str]) -> None:
    """Run a script as `python script arguments` does."""
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).parent)
    runpy.run_path(script, run_name="__main__")


def _quantize(job: dict[str, Any]) -> None:
    import llama_cpp

    # So that llama.cpp says how far it is; the package shows its errors alone.
    logging.getLogger("llama-cpp-python").setLevel(logging.INFO)
    parameters = llama_cpp.llama_model_quantize_default_params()
    parameters.ftype = job["type"]
    code = llama_cpp.llama_model_quantize(
        job["input"].encode(), job["output"].encode(), ctypes.byref(parameters)
    )
    sys.exit(int(code))  # llama.cpp has said why


if __name__ == "__main__":
    main(sys.argv[1])
