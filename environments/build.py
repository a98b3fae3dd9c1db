"""Build a virtual environment, or link it from the cache: `build.py FOLDER [EXTRA | LIST.txt]`.

It holds the project's dependencies, those of an extra besides, or those of a list; the project
itself is not in it. What pip installed for the same requirements, interpreter and machine before is
linked from `~/.cache/ragkit-environments` (RAGKIT_ENVIRONMENTS names another folder): seconds
instead of minutes. An extra is installed on top of the environment without it, where that is there.
The two newest environments of each name stay there. Of llama.cpp's environment it also keeps the
converter of models, which the package has in its source alone. Standard library only.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path, PurePosixPath

import torch_build

ROOT = Path(__file__).resolve().parents[1]
NEWEST = 2  # of each name: the branch at hand and the one before
# By the list's name: a package, a folder in its source, and what of it is kept in share/.
SOURCES = {
    "llamacpp": (
        "llama_cpp_python",
        "vendor/llama.cpp",
        ("convert_hf_to_gguf.py", "conversion", "gguf-py"),
    )
}


def main(folder: Path, selection: str = "") -> None:
    """Build the environment in `folder`, whatever was there before."""
    build = torch_build.chosen_here()
    cached = cached_environment(selection, build)
    if cached.is_dir():
        os.utime(cached)
        link(cached, folder)
        print(f"{folder}: linked from {cached}")
        return
    print(f"{folder}: installing; this takes some minutes", flush=True)
    base = cached_environment("", build)
    if base.is_dir() and not selection.endswith(".txt"):
        link(base, folder)
    else:
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    build = install(folder, selection, build)
    store(folder, cached_environment(selection, build))


def install(folder: Path, selection: str, build: torch_build.Build) -> torch_build.Build:
    """Install what is missing, and give the build of torch that could be had."""
    options, text = requirements(selection)
    pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    torch = re.findall(r"^torch(?![\w.-]).*", text, re.MULTILINE)
    if torch and build == "cpu" and not torch_build.install_cpu_build(pip, [*options, *torch]):
        build = "cuda"
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write(text)
        listed.flush()
        subprocess.run([*pip, *options, "--requirement", listed.name], check=True)
    if name(selection) in SOURCES and selection.endswith(".txt"):
        keep_source(folder, text, *SOURCES[name(selection)])
    return build


def keep_source(
    folder: Path, text: str, package: str, inside: str, members: tuple[str, ...]
) -> None:
    """Keep some members of a package's source, of the version in the list, under `share`."""
    (pinned,) = re.findall(rf"^{package}==.*", text, re.MULTILINE)
    with tempfile.TemporaryDirectory() as place:
        pip = [folder / "bin/python", "-m", "pip", "download", "--quiet", "--no-deps"]
        pip += ["--disable-pip-version-check", "--no-binary", package, "--dest", place]
        subprocess.run([*pip, pinned], check=True)
        (archive,) = Path(place).glob("*.tar.gz")
        unpack(archive, inside, members, folder / "share" / PurePosixPath(inside).name)


def unpack(archive: Path, inside: str, members: tuple[str, ...], into: Path) -> None:
    """Unpack members of a folder in a source's archive, whose one top folder has any name."""
    wanted = [PurePosixPath(inside, member) for member in members]
    with tarfile.open(archive) as opened:
        for entry in opened:
            path = PurePosixPath(*PurePosixPath(entry.name).parts[1:])
            if any(path.is_relative_to(member) for member in wanted):
                entry.name = str(path.relative_to(inside))
                opened.extract(entry, into, filter="data")


def cached_environment(selection: str, build: torch_build.Build) -> Path:
    """Give the folder of the cache for an environment."""
    options, text = requirements(selection)
    return cache_folder() / f"{name(selection)}-{key(options, text, build)}"


def requirements(selection: str) -> tuple[list[str], str]:
    """Give pip's options and the text of the list to install."""
    if selection.endswith(".txt"):
        return ["--no-deps"], Path(selection).read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = list(project["dependencies"])
    waiting = [selection] if selection else []
    while waiting:
        for line in project["optional-dependencies"][waiting.pop()]:
            if extras := re.fullmatch(rf"{project['name']}\[([\w,-]+)\]", line):
                waiting += extras[1].split(",")
            else:
                lines.append(line)
    return ["--constraint", str(ROOT / "constraints.txt")], "\n".join(sorted(set(lines)))


def name(selection: str) -> str:
    return Path(selection).stem or "runtime"


def key(options: list[str], text: str, build: torch_build.Build = "cpu") -> str:
    """Hash what decides about the environment's content."""
    parts = [sys.version, platform.machine(), platform.libc_ver(), text]
    parts += [Path(o).read_text("utf-8") if o.endswith(".txt") else o for o in options]
    parts += [build] if build != "cpu" else []
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def cache_folder() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    named = os.environ.get("RAGKIT_ENVIRONMENTS") or f"{caches}/ragkit-environments"
    return Path(named).expanduser()


def store(folder: Path, cached: Path) -> None:
    """Link an environment into the cache, whole or not at all, and drop the oldest ones."""
    cached.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(tempfile.mkdtemp(prefix="begun-", dir=cached.parent))
    copy(folder, begun)
    try:
        begun.rename(cached)
    except OSError:  # another build was quicker
        shutil.rmtree(begun)
    alike = cached.parent.glob(f"{cached.name.rpartition('-')[0]}-*")
    for surplus in sorted(alike, key=lambda path: path.stat().st_mtime, reverse=True)[NEWEST:]:
        shutil.rmtree(surplus)


def link(cached: Path, folder: Path) -> None:
    """Make an environment of the cached one's files; its scripts start the new interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", folder], check=True)
    copy(cached, folder)


def copy(source: Path, target: Path) -> None:
    """Link files where they do not exist, or copy them; scripts get the target's interpreter."""
    interpreter = f"#!{target.resolve()}/bin/python\n".encode()
    for place, folders, files in os.walk(source):
        into = target / Path(place).relative_to(source)
        into.mkdir(exist_ok=True)
        for entry in [*folders, *files]:
            origin, copied = Path(place, entry), into / entry
            if (
                copied.exists()
                or copied.is_symlink()
                or (entry in folders and not origin.is_symlink())
            ):
                continue
            if origin.is_symlink():
                copied.symlink_to(origin.readlink())
            elif into == target / "bin" and origin.read_bytes()[:2] == b"#!":
                _, _, script = origin.read_bytes().partition(b"\n")
                copied.write_bytes(interpreter + script)
                copied.chmod(0o755)
            else:
                _link(origin, copied)


def _link(origin: Path, copied: Path) -> None:
    try:
        copied.hardlink_to(origin)
    except OSError:  # another file system
        shutil.copy2(origin, copied)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
