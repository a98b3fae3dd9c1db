"""The build of torch that an environment gets: the one for CPUs where there is no NVIDIA card.

PyPI's torch for Linux brings gigabytes of CUDA libraries. Its build for CPUs is on an index of
PyTorch's own, from which torch alone is taken, without its dependencies, so that no other package
can come from there. Standard library only.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
CARD = Path("/proc/driver/nvidia/version")  # there while NVIDIA's driver is loaded
# Where the index does not answer, pip would try for minutes.
IMPATIENT = ("--retries", "1", "--timeout", "15")
Build = Literal["cpu", "cuda"]


def choose(chosen: str, system: str, card: bool) -> Build:
    """Give the build to take: the owner's choice, else by the machine.

    "cuda" stands for what pip takes by itself; elsewhere than on Linux that is a build for CPUs.
    """
    if chosen == "cuda":
        return "cuda"
    if chosen == "cpu" or "://" in chosen:
        return "cpu"
    if chosen:
        sys.exit(f"RAGKIT_TORCH={chosen}: choose cpu, cuda, or the address of an index of torch")
    return "cpu" if system == "Linux" and not card else "cuda"


def chosen_here() -> Build:
    """Give the build to take on this machine; RAGKIT_TORCH is the owner's choice."""
    card = CARD.exists() or shutil.which("nvidia-smi") is not None
    return choose(os.environ.get("RAGKIT_TORCH", ""), platform.system(), card)


def install_cpu_build(pip: Sequence[str | Path], requirement: Sequence[str]) -> bool:
    """Install torch's build for CPUs; False, with a line that says so, where it cannot be had.

    Wheels that the owner keeps for pip (`find-links`) are tried first: they need no network.
    Exits where the owner chose this build and it cannot be had.
    """
    chosen = os.environ.get("RAGKIT_TORCH", "")
    index = chosen if "://" in chosen else CPU_INDEX
    for source in (["--no-index"], ["--index-url", index, *IMPATIENT]):
        command = [*pip, "--no-deps", "--only-binary", ":all:", *source, *requirement]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 0:
            return True
    reason = f"{index} does not give torch's build for CPUs"
    if chosen:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        sys.exit(f"{reason}: {' '.join(errors[:1])}")
    print(
        f"{reason}: pip takes torch from its usual index, on PyPI with several GB of CUDA "
        "libraries. RAGKIT_TORCH=ADDRESS names another index.",
        file=sys.stderr,
    )
    return False
