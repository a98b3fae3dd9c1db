"""The inner half of the sandbox: confines its own process for good, then runs a program in it.

Started by run.py as a script of its own, with the job on its input: it imports nothing of ragkit,
and only what Python itself brings. Linux alone: namespaces, mounts, limits, no capabilities, and
a filter of system calls that the job brings.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

NOT_CONFINED = 96

_CLONE_NEWNS, _CLONE_NEWUTS, _CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
_CLONE_NEWUSER, _CLONE_NEWPID, _CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
_APART = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC = 1, 2, 4, 8
_MS_REMOUNT, _MS_BIND, _MS_REC, _MS_PRIVATE = 32, 4096, 16384, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 4, 24, 38
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_NOBODY = 65534
_CAPABILITY_VERSION = 0x20080522  # linux/capability.h, version 3
_LIBRARIES = ("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib")

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Read the job, confine this process, run the job in it, and end as the job does."""
    job = json.loads(sys.stdin.buffer.read())
    nonce = int(sys.argv[1])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if not job["weak"]:
        try:
            _enter_namespaces()
        except OSError as error:
            _give_up(error)
        os._exit(_child(lambda: _first_process(job, nonce)))
    with suppress(OSError):
        _filter(bytes.fromhex(job["filter"]))
    _run(job, nonce)


def _first_process(job: dict[str, Any], nonce: int) -> None:
    """Be process 1 of the namespace, with which all others in it end; the program is a child."""
    try:
        _build_root(job["files_mb"])
        _drop_rights(job["user"])
        # After the change of user, which takes it back.
        _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        # The program is of the same user, and may not look into this process.
        _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        _filter(bytes.fromhex(job["filter"]))
    except OSError as error:
        _give_up(error)
    code = _child(lambda: _run(job, nonce))
    os._exit(1 if code == NOT_CONFINED else code)


def _enter_namespaces() -> None:
    """Leave the network, processes and mounts; as an ordinary user by a user namespace."""
    if os.geteuid() == 0:
        _check(_libc.unshare(_APART), "unshare")
        return
    user, group = os.geteuid(), os.getegid()
    _check(_libc.unshare(_APART | _CLONE_NEWUSER), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_NOBODY} {user} 1"),
        ("gid_map", f"{_NOBODY} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _build_root(files_mb: int) -> None:
    """Make the standard library and one empty, writable folder all that there is."""
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    outer = os.getcwd()
    _mount("tmpfs", outer, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    root = f"{outer}/root"
    for source in _needed():
        target = root + source
        if source in _LIBRARIES and os.path.islink(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(source), target)
            continue
        os.makedirs(target, exist_ok=True)
        _mount(source, target, "", _MS_BIND | _MS_REC)
        kept = os.statvfs(target).f_flag & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        _mount("none", target, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | kept)
    os.makedirs(f"{root}/tmp")  # noqa: S108  of the sandbox alone
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("tmpfs", f"{root}/tmp", "tmpfs", flags, f"size={files_mb}m,nr_inodes=256,mode=777")  # noqa: S108  of the sandbox alone
    os.chdir(outer)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount")
    _mount("none", "/", "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    # Inside a changed root the kernel lets nobody make a user namespace, and so get rights again.
    os.chroot("/root")
    os.chdir("/tmp")  # noqa: S108  of the sandbox alone


def _needed() -> list[str]:
    """Return the folders that Python needs, none inside another."""
    paths = sysconfig.get_paths()
    wanted = {paths["stdlib"], paths["platstdlib"], os.path.join(sys.base_prefix, "lib")}
    wanted = {path for path in wanted | set(_LIBRARIES) if os.path.isdir(path)}
    return sorted(path for path in wanted if not any(_within(path, other) for other in wanted))


def _within(path: str, other: str) -> bool:
    return path != other and path.startswith(other + "/")


def _drop_rights(user: int) -> None:
    """Give up every capability for good and, as root, the user."""
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # past the last one that this kernel knows
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def _limit(job: dict[str, Any]) -> None:
    """Set the limits, for this process and all that it starts."""
    memory, files = job["memory_mb"] << 20, job["files_mb"] << 20
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, job["cpu_s"]),
        (resource.RLIMIT_FSIZE, files),
        (resource.RLIMIT_NOFILE, job["open_files"]),
        (resource.RLIMIT_NPROC, job["processes"]),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        limit = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (limit, limit))


def _filter(instructions: bytes) -> None:
    """Refuse the system calls that a filter refuses, for good; see calls.py."""
    if not instructions:
        return
    steps = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("HP", len(instructions) // 8, ctypes.addressof(steps))
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def _run(job: dict[str, Any], nonce: int) -> None:
    """Run the program and its tests, limited; print the nonce only when they have come to their
    end."""
    _limit(job)
    names: dict[str, Any] = {"__name__": "__program__"}
    write, leave, read = os.write, os._exit, os.read
    try:
        exec(compile(job["program"], "program.py", "exec"), names)  # noqa: S102  the sandbox's purpose
        entry = names[job["entry_point"]]
        exec(compile(job["tests"], "tests.py", "exec"), names)  # noqa: S102  the sandbox's purpose
        names["check"](entry)
    except BaseException as error:  # noqa: BLE001 - all that it raises is a failure, SystemExit too
        text = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(": ")
        write(1, f"\n{text}\n".encode("utf-8", "replace"))
        leave(1)
    write(1, b"\n" + read(nonce, 64) + b"\n")
    leave(0)


def _give_up(error: OSError) -> NoReturn:
    os.write(1, f"{error.filename or 'confinement'}: {error.strerror}\n".encode())
    os._exit(NOT_CONFINED)


def _child(work: Callable[[], None]) -> int:
    """Run `work` in a child and return its exit status, a signal as 128 and its number."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    result = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(result, f"mount {target}")


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)


if __name__ == "__main__":
    main()
