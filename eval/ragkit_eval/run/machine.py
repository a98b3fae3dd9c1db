"""What a run was made on: the commit of ragkit's checkout, processor, memory, GPUs."""

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
    """Return the git commit of the checkout that ragkit runs from, "+changes" when it has any.

    "" for an installed ragkit, also one whose environment lies in somebody's checkout.
    """
    here = Path(ragkit.__file__).resolve()
    folder = str(here.parent)
    if not _told("git", "-C", folder, "ls-files", str(here)):
        return ""
    sha = _told("git", "-C", folder, "rev-parse", "HEAD")
    return sha + ("+changes" if _told("git", "-C", folder, "status", "--porcelain") else "")


def hardware() -> dict[str, Any]:
    """Tell "cpu", "cores", "memory_gib" and "gpus", as far as the machine tells."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    gpus = _told("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader")
    return {
        "platform": platform.platform(),
        "cpu": _cpu(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "gpus": gpus.splitlines(),
    }


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _told(program: str, *arguments: str) -> str:
    """Return what a program prints; "" where it is missing or fails."""
    found = shutil.which(program)
    if found is None:
        return ""
    try:
        done = subprocess.run(
            [found, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
