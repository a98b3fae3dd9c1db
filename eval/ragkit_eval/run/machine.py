"""Describe the machine of a run: the commit of ragkit's checkout, processor, memory, GPUs."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import ragkit

_TIMEOUT_S = 10.0  # arbitrary; both programs answer at once


def commit() -> str:
    """Return the git commit of ragkit's checkout, with "+changes" when it has uncommitted ones.

    "" for an installed ragkit, also one whose environment lies inside another checkout.
    """
    module = Path(ragkit.__file__).resolve()
    folder = str(module.parent)
    if not _run_program("git", "-C", folder, "ls-files", str(module)):
        return ""
    sha = _run_program("git", "-C", folder, "rev-parse", "HEAD")
    return sha + ("+changes" if _run_program("git", "-C", folder, "status", "--porcelain") else "")


def hardware() -> dict[str, Any]:
    """Return "platform", "cpu", "cores", "memory_gib" and "gpus", as far as they are known."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    gpus = _run_program("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    return {
        "platform": platform.platform(),
        "cpu": _read_cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "gpus": gpus.splitlines(),
    }


def _read_cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _run_program(program: str, *arguments: str) -> str:
    """Return a program's output; "" where the program is missing or fails."""
    path = shutil.which(program)
    if path is None:
        return ""
    try:
        process = subprocess.run(
            [path, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""
