"""What the measuring machine is, for the record; the server may be on another one."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path


def machine() -> dict[str, object]:
    """Describe this machine without naming it."""
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _first(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo")) or platform.processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_kib": _first(r"^MemTotal:\s*(\d+) kB$", Path("/proc/meminfo")),
        "gpus": _gpus(),
        "python": platform.python_version(),
    }


def _first(pattern: str, file: Path) -> str | None:
    try:
        found = re.search(pattern, file.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError:
        return None
    return found[1].strip() if found else None


def _gpus() -> list[str]:
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    query = [program, "--query-gpu=name,memory.total", "--format=csv,noheader"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return []
    return [line.strip() for line in done.stdout.splitlines() if line.strip()]
