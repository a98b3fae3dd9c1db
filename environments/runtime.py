"""What ragkit needs at run time: the packages, by the metadata of those that are installed.

Used by lock.py, notices.py and sbom.py. Needs the project's own environment (`make venv`).
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
RELEASE_EXTRAS = ("otel",)  # what deploy/ installs besides the base installation
PYTHONS = ("3.11", "3.12", "3.13")
MACHINES = ("x86_64", "aarch64")


def optional_extras() -> list[str]:
    """Give the extras that users may install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return [extra for extra in project["optional-dependencies"] if extra != "dev"]


def project_requirements(*extras: str) -> list[str]:
    """Give the lines of pyproject.toml for the base installation and some extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(line for extra in extras for line in optional[extra])]


def pins() -> dict[str, str]:
    """Map each package of constraints.txt to its version."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    found = re.findall(r"^([\w.-]+)==([\w.+!-]+)", "\n".join(lines), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def platforms() -> Iterator[dict[str, str]]:
    """Give the environment markers of each Python and machine that a release is for."""
    for python in PYTHONS:
        for machine in MACHINES:
            yield {
                "python_version": python,
                "python_full_version": f"{python}.0",
                "platform_machine": machine,
                "platform_system": "Linux",
                "sys_platform": "linux",
                "os_name": "posix",
                "implementation_name": "cpython",
                "platform_python_implementation": "CPython",
            }


def here() -> dict[str, str]:
    """Give the environment markers of this machine."""
    return {name: str(value) for name, value in default_environment().items()}


def closure(lines: list[str], markers: Mapping[str, str]) -> set[str]:
    """Give the canonical names of these requirements and of all that they need."""
    waiting = [Requirement(line) for line in lines]
    seen: set[tuple[str, str]] = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in ("", *requirement.extras):
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            wanted = {**markers, "extra": extra}
            needed = (Requirement(line) for line in required_by(name))
            waiting += [r for r in needed if r.marker is None or r.marker.evaluate(wanted)]
    return {name for name, _ in seen}


def required_by(name: str) -> list[str]:
    """Give what an installed package needs; what is for another Python is not installed here."""
    try:
        return distribution(name).requires or []
    except PackageNotFoundError:
        return []
