"""The filter of system calls, tried from inside: each call would go through without the filter."""

import platform
import re
from pathlib import Path
from typing import Final

import pytest

from ragkit.errors import ModelError, UsageError
from ragkit_eval.sandbox import Limits, Outcome, Sandbox
from ragkit_eval.sandbox import run as module
from ragkit_eval.sandbox.syscall_filter import allowed_calls, filter_for

LIMITS = Limits(cpu_s=5, wall_s=60.0)
TESTS = "def check(f):\n    assert f() == 1\n"
X86_64 = pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are of x86-64")
CALL: Final = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def refused(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *(ctypes.c_long(value) for value in arguments))
    return (result, ctypes.get_errno()) == (-1, 38)
"""
# By name: number on x86-64, arguments that the kernel would accept or answer otherwise.
REFUSED: Final = {
    "shmget": (29, (0, 4096, 0o1600)),
    "semget": (64, (0, 1, 0o1600)),
    "msgget": (68, (0, 0o1600)),
    "mq_open": (240, (0, 0o102, 0o600, 0)),
    "memfd_create": (319, (0, 0)),
    "socket AF_UNIX": (41, (1, 1, 0)),
    "socket AF_INET": (41, (2, 1, 0)),
    "socket AF_NETLINK": (41, (16, 3, 0)),
    "socket AF_PACKET": (41, (17, 3, 0)),
    "socket AF_ALG": (41, (38, 5, 0)),
    "socket AF_VSOCK": (41, (40, 1, 0)),
    "socketpair AF_TIPC": (53, (30, 1, 0, 0)),
    "connect": (42, (0, 0, 0)),
    "bind": (49, (0, 0, 0)),
    "keyctl": (250, (0, -3, 1)),
    "add_key": (248, (0, 0, 0, 0, 0)),
    "request_key": (249, (0, 0, 0, 0)),
    "ptrace": (101, (0, 0, 0, 0)),
    "mount": (165, (0, 0, 0, 0, 0)),
    "umount2": (166, (0, 0)),
    "pivot_root": (155, (0, 0)),
    "chroot": (161, (0,)),
    "unshare": (272, (0x10000000,)),
    "setns": (308, (0, 0)),
    "clone CLONE_NEWUSER": (56, (0x10000011, 0, 0, 0, 0)),
    "clone CLONE_NEWTIME": (56, (0x91, 0, 0, 0, 0)),
    "clone3": (435, (0, 0)),
    "execve": (59, (0, 0, 0)),
    "execveat": (322, (0, 0, 0, 0, 0)),
    "io_uring_setup": (425, (1, 0)),
    "perf_event_open": (298, (0, 0, -1, -1, 0)),
    "userfaultfd": (323, (1,)),
    "bpf": (321, (0, 0, 0)),
    "process_vm_readv": (310, (1, 0, 0, 0, 0, 0)),
    "process_vm_writev": (311, (1, 0, 0, 0, 0, 0)),
    "pidfd_open": (434, (1, 0)),
    "kcmp": (312, (1, 1, 0, 0, 0)),
    "setuid": (105, (0,)),
    "personality": (135, (0xFFFFFFFF,)),
    "mknod": (133, (0, 0o20600, 0)),
    "open_by_handle_at": (304, (0, 0, 0)),
    "inotify_init1": (294, (0,)),
    "swapon": (167, (0, 0)),
    "reboot": (169, (0, 0, 0, 0)),
}


@pytest.fixture(scope="module", params=[False, True], ids=["confined", "weak"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    try:
        return Sandbox.open(limits=LIMITS, weak=request.param)
    except UsageError as error:
        pytest.skip(str(error))


def _run(sandbox: Sandbox, *lines: str) -> Outcome:
    """Run a function of these lines, which returns 1 if it comes to its end."""
    body = "".join(f"    {line}\n" for line in (*lines, "return 1"))
    return sandbox.run(f"{CALL}\ndef f():\n{body}", tests=TESTS, entry_point="f")


@X86_64
def test_what_reaches_beyond_the_program_is_refused(sandbox: Sandbox) -> None:
    outcome = _run(
        sandbox,
        f"calls = {REFUSED!r}",
        "through = [name for name, (n, given) in calls.items() if not refused(n, *given)]",
        "assert not through, through",
    )
    assert outcome == Outcome(True)


@X86_64
def test_the_check_sees_a_call_that_goes_through(sandbox: Sandbox) -> None:
    assert _run(sandbox, "assert refused(39)").reason == "AssertionError"  # getpid


@X86_64
def test_every_call_that_is_not_named_is_refused() -> None:
    """Of all numbers that there are, and of those of the x32 way to call.

    In the confined sandbox alone: a filter with a hole would let the weak one do harm here.
    """
    try:
        sandbox = Sandbox.open(limits=LIMITS)
    except UsageError as error:
        pytest.skip(str(error))
    closer = {53, 56}  # by their arguments
    probes = {335, 336}  # the kernel ends whoever calls these by himself, before any filter
    others = sorted({*range(600)} - allowed_calls("x86_64") - closer - probes)
    lines = (
        f"others = {others!r}",
        "through = [n for n in others if not refused(n, 0, 0, 0, 0, 0, 0)]",
        "through += [n for n in others if not refused(n | 1 << 30, -1, -1, -1)]",
        "assert not through, through",
    )
    assert _run(sandbox, *lines) == Outcome(True)


@X86_64
def test_a_call_in_the_way_of_another_architecture_ends_the_program(sandbox: Sandbox) -> None:
    code = r"b'\xb8\x14\x00\x00\x00\xcd\x80\xc3'"  # mov eax, 20 (getpid); int 0x80; ret
    lines = (
        "import mmap",
        "page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)",
        f"page.write({code})",
        "address = ctypes.addressof(ctypes.c_char.from_buffer(page))",
        "ctypes.CFUNCTYPE(ctypes.c_int)(address)()",
    )
    assert _run(sandbox, *lines) == Outcome(False, "ended by SIGSYS")


def test_shared_memory_is_not_left_behind(sandbox: Sandbox) -> None:
    size = 4096 * 1237  # of no other program's segments
    _run(sandbox, f"key = libc.shmget(0, {size}, 0o1600)", "assert key >= 0")
    segments = Path("/proc/sysvipc/shm").read_text().splitlines()[1:]
    assert str(size) not in [segment.split()[3] for segment in segments]


def test_what_honest_programs_do_goes_through(sandbox: Sandbox) -> None:
    lines = (
        "import asyncio, concurrent.futures, os, signal, socket, tempfile",
        "async def soon(): await asyncio.sleep(0); return 1",
        "assert asyncio.run(soon()) == 1",
        "with concurrent.futures.ThreadPoolExecutor(2) as pool:",
        "    assert list(pool.map(abs, [-1, 2])) == [1, 2]",
        "with tempfile.TemporaryDirectory(dir='.') as folder:",
        "    path = os.path.join(folder, 'a')",
        "    with open(path, 'w') as file: file.write('x'); file.flush(); os.fsync(file.fileno())",
        "    os.rename(path, path + 'b'); assert os.listdir(folder) == ['ab']",
        "signal.signal(signal.SIGALRM, lambda *_: None)",
        "signal.setitimer(signal.ITIMER_REAL, 0.01)",
        "signal.pause()",
        "one, other = socket.socketpair(); one.send(b'x'); assert other.recv(1) == b'x'",
        "pid = os.fork()",
        "if pid == 0: os._exit(3)",
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3",
        "assert len(os.urandom(8)) == 8 and os.cpu_count() and os.uname()",
    )
    assert _run(sandbox, *lines) == Outcome(True)


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_numbers_are_those_of_the_headers(machine: str) -> None:
    """Debian's linux-libc-dev has both tables."""
    header = {
        "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        "aarch64": Path("/usr/include/asm-generic/unistd.h"),
    }[machine]
    if not header.exists():
        pytest.skip(f"there is no {header}: apt-get install linux-libc-dev")
    rows = re.findall(r"#define __NR(?:3264)?_(\w+) (\d+)$", header.read_text(), re.MULTILINE)
    numbers = {int(number): name for name, number in rows}
    assert allowed_calls(machine) <= numbers.keys()
    names = {numbers[number] for number in allowed_calls(machine)}
    assert {"read", "openat", "mmap", "futex", "exit_group", "getrandom"} <= names
    dangerous = {name.split()[0] for name in REFUSED} | {"fstatat64"}
    assert not names & dangerous


def test_a_machine_without_a_filter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelError, match="there is no filter of system calls for riscv64"):
        filter_for("riscv64")
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    with pytest.raises(ModelError, match="cannot run programs confined: there is no filter"):
        _run(Sandbox(LIMITS))
    assert _run(Sandbox(LIMITS, weak=True)) == Outcome(True)


def test_a_filter_that_the_kernel_does_not_take_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "filter_for", lambda machine: b"\xff" * 8)
    with pytest.raises(ModelError, match="cannot run programs confined: seccomp: Invalid argument"):
        _run(Sandbox(LIMITS))
