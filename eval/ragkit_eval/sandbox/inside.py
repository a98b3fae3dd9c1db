"""The inner half of the sandbox: confines its own process, then runs a program in it.

run.py starts it as a script, with the job on its input: it imports only the standard library. It
needs Linux: namespaces, mounts, limits, no capabilities, and the job's filter of system calls.
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
_NAMESPACES = _CLONE_NEWNS | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWPID | _CLONE_NEWNET
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
    """Read the job, confine this process, run the job in it, and exit with its status."""
    job = json.loads(sys.stdin.buffer.read())
    nonce = int(sys.argv[1])
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    if not job["weak"]:
        try:
            _enter_namespaces()
        except OSError as error:
            _exit_unconfined(error)
        os._exit(_run_child(lambda: _run_first_process(job, nonce)))
    with suppress(OSError):
        _install_filter(bytes.fromhex(job["filter"]))
    _run_program(job, nonce)


def _run_first_process(job: dict[str, Any], nonce: int) -> None:
    """Run as process 1 of the namespace, whose end ends all others; the program is a child."""
    try:
        _build_root(job["files_mb"])
        _drop_rights(job["user"])
        # After the change of user, which resets it.
        _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")
        # The program runs as the same user, and must not read this process's memory.
        _check(_libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0), "prctl")
        _install_filter(bytes.fromhex(job["filter"]))
    except OSError as error:
        _exit_unconfined(error)
    code = _run_child(lambda: _run_program(job, nonce))
    os._exit(1 if code == NOT_CONFINED else code)


def _enter_namespaces() -> None:
    """Leave the network, processes and mounts; an ordinary user needs a user namespace."""
    if os.geteuid() == 0:
        _check(_libc.unshare(_NAMESPACES), "unshare")
        return
    user, group = os.geteuid(), os.getegid()
    _check(_libc.unshare(_NAMESPACES | _CLONE_NEWUSER), "unshare")
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{_NOBODY} {user} 1"),
        ("gid_map", f"{_NOBODY} {group} 1"),
    ):
        with open(f"/proc/self/{name}", "w") as file:
            file.write(text)


def _build_root(files_mb: int) -> None:
    """Reduce the file system to the standard library and one empty, writable folder."""
    _mount("none", "/", "", _MS_REC | _MS_PRIVATE)
    outer = os.getcwd()
    _mount("tmpfs", outer, "tmpfs", _MS_NOSUID | _MS_NODEV, "size=1m,mode=755")
    root = f"{outer}/root"
    for source in _list_folders():
        target = root + source
        if source in _LIBRARIES and os.path.islink(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.symlink(os.readlink(source), target)
            continue
        os.makedirs(target, exist_ok=True)
        _mount(source, target, "", _MS_BIND | _MS_REC)
        existing_flags = os.statvfs(target).f_flag & (_MS_NOSUID | _MS_NODEV | _MS_NOEXEC)
        _mount(
            "none", target, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | existing_flags
        )
    os.makedirs(f"{root}/tmp")  # noqa: S108  of the sandbox alone
    flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
    _mount("tmpfs", f"{root}/tmp", "tmpfs", flags, f"size={files_mb}m,nr_inodes=256,mode=777")  # noqa: S108  of the sandbox alone
    os.chdir(outer)
    _check(_libc.pivot_root(b".", b"."), "pivot_root")
    _check(_libc.umount2(b".", _MNT_DETACH), "umount")
    _mount("none", "/", "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    # In a changed root the kernel allows no user namespace, which would give rights back.
    os.chroot("/root")
    os.chdir("/tmp")  # noqa: S108  of the sandbox alone


def _list_folders() -> list[str]:
    """Return the folders that Python needs, none inside another."""
    paths = sysconfig.get_paths()
    folders = {paths["stdlib"], paths["platstdlib"], os.path.join(sys.base_prefix, "lib")}
    folders = {path for path in folders | set(_LIBRARIES) if os.path.isdir(path)}
    return sorted(
        path for path in folders if not any(_is_within(path, parent) for parent in folders)
    )


def _is_within(path: str, parent: str) -> bool:
    return path != parent and path.startswith(parent + "/")


def _drop_rights(user: int) -> None:
    """Drop every capability for good and, as root, the user."""
    for capability in range(64):
        if _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # past the last capability of this kernel
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    _check(_libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")


def _set_limits(job: dict[str, Any]) -> None:
    """Set the limits of this process and its children."""
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


def _install_filter(instructions: bytes) -> None:
    """Install the filter of system calls for good; see calls.py."""
    if not instructions:
        return
    steps = ctypes.create_string_buffer(instructions, len(instructions))
    program = struct.pack("HP", len(instructions) // 8, ctypes.addressof(steps))
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    _check(_libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0), "seccomp")


def _run_program(job: dict[str, Any], nonce: int) -> None:
    """Run the program and its tests with limits, and print the nonce when the tests have ended."""
    _set_limits(job)
    names: dict[str, Any] = {"__name__": "__program__"}
    write, leave, read = os.write, os._exit, os.read
    try:
        exec(compile(job["program"], "program.py", "exec"), names)  # noqa: S102  the sandbox's purpose
        entry = names[job["entry_point"]]
        exec(compile(job["tests"], "tests.py", "exec"), names)  # noqa: S102  the sandbox's purpose
        names["check"](entry)
    except BaseException as error:  # noqa: BLE001 - any exception is a failure, also SystemExit
        text = " ".join(f"{type(error).__name__}: {error}".split())[:200].rstrip(": ")
        write(1, f"\n{text}\n".encode("utf-8", "replace"))
        leave(1)
    write(1, b"\n" + read(nonce, 64) + b"\n")
    leave(0)


def _exit_unconfined(error: OSError) -> NoReturn:
    os.write(1, f"{error.filename or 'confinement'}: {error.strerror}\n".encode())
    os._exit(NOT_CONFINED)


def _run_child(work: Callable[[], None]) -> int:
    """Run `work` in a child and return its exit status, 128 plus the number of a signal."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    status = _libc.mount(
        source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode()
    )
    _check(status, f"mount {target}")


def _check(status: int, operation: str) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), operation)


if __name__ == "__main__":
    main()
