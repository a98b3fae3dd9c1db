"""Build the filter of system calls for a confined program; calls that it does not list are refused.

The filter is the kernel's BPF instructions as bytes, which `inside.py` installs. The numbers are
Linux's for x86-64 and aarch64, which never change.
"""

from __future__ import annotations

import struct
from typing import Final

from ragkit.errors import ModelError

# Calls that Python needs for files, memory, time, signals, threads and its own processes: name,
# number on x86-64, number on aarch64. There is no execve, no socket, no System V or POSIX IPC.
_ALLOWED: Final = """
read 0 63, write 1 64, readv 19 65, writev 20 66, pread64 17 67, pwrite64 18 68, open 2 -,
openat 257 56, creat 85 -, close 3 57, close_range 436 436, lseek 8 62, stat 4 -, lstat 6 -,
fstat 5 80, newfstatat 262 79, statx 332 291, statfs 137 43, fstatfs 138 44, access 21 -,
faccessat 269 48, faccessat2 439 439, readlink 89 -, readlinkat 267 78, getdents 78 -,
getdents64 217 61, getcwd 79 17, chdir 80 49, fchdir 81 50, dup 32 23, dup2 33 -, dup3 292 24,
fcntl 72 25, flock 73 32, fsync 74 82, fdatasync 75 83, truncate 76 45, ftruncate 77 46,
fallocate 285 47, mkdir 83 -, mkdirat 258 34, rmdir 84 -, unlink 87 -, unlinkat 263 35,
rename 82 -, renameat 264 38, renameat2 316 276, link 86 -, linkat 265 37, symlink 88 -,
symlinkat 266 36, chmod 90 -, fchmod 91 52, fchmodat 268 53, utimensat 280 88, umask 95 166,
pipe 22 -, pipe2 293 59, ioctl 16 29, sendfile 40 71, copy_file_range 326 285, mmap 9 222,
munmap 11 215, mprotect 10 226, mremap 25 216, madvise 28 233, brk 12 214, msync 26 227,
mincore 27 232, membarrier 324 283, fork 57 -, vfork 58 -, exit 60 93, exit_group 231 94,
wait4 61 260, waitid 247 95, kill 62 129, tkill 200 130, tgkill 234 131, getpid 39 172,
getppid 110 173, gettid 186 178, getpgid 121 155, getpgrp 111 -, getsid 124 156, setpgid 109 154,
setsid 112 157, getuid 102 174, geteuid 107 175, getgid 104 176, getegid 108 177,
getresuid 118 148, getresgid 120 150, getgroups 115 158, getrusage 98 165, times 100 153,
sysinfo 99 179, uname 63 160, getrlimit 97 163, setrlimit 160 164, prlimit64 302 261,
getpriority 140 141, getcpu 309 168, sched_yield 24 124, sched_getaffinity 204 123,
sched_setaffinity 203 122, prctl 157 167, arch_prctl 158 -, set_tid_address 218 96,
set_robust_list 273 99, rseq 334 293, futex 202 98, restart_syscall 219 128, rt_sigaction 13 134,
rt_sigprocmask 14 135, rt_sigreturn 15 139, rt_sigpending 127 136, rt_sigtimedwait 128 137,
rt_sigsuspend 130 133, sigaltstack 131 132, pause 34 -, alarm 37 -, setitimer 38 103,
getitimer 36 102, timer_create 222 107, timer_settime 223 110, timer_gettime 224 108,
timer_getoverrun 225 109, timer_delete 226 111, nanosleep 35 101, clock_nanosleep 230 115,
clock_gettime 228 113, clock_getres 229 114, gettimeofday 96 169, time 201 -, eventfd2 290 19,
poll 7 -, ppoll 271 73, select 23 -, pselect6 270 72, epoll_create1 291 20, epoll_ctl 233 21,
epoll_wait 232 -, epoll_pwait 281 22, sendto 44 206, recvfrom 45 207, sendmsg 46 211,
recvmsg 47 212, shutdown 48 210, getsockname 51 204, getpeername 52 205, getsockopt 55 209,
setsockopt 54 208, getrandom 318 278
"""
# Calls that are allowed with certain first arguments only, by machine.
_CLONE: Final = {"x86_64": 56, "aarch64": 220}
_SOCKETPAIR: Final = {"x86_64": 53, "aarch64": 199}
# Every CLONE_NEW... flag of linux/sched.h: the call may make no namespace.
_NEW_NAMESPACE: Final = 0x7E020080
_AF_UNIX: Final = 1

_ARCHITECTURE: Final = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06  # linux/bpf_common.h
_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENT_AT = 0, 4, 16  # in struct seccomp_data
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
# ENOSYS, so that the C library falls back to an older call.
_REFUSE: Final = 0x00050000 | 38


def filter_for(machine: str) -> bytes:
    """Build the filter for a machine, as `platform.machine()` names it.

    Raises ModelError for other machines.
    """
    if machine not in _ARCHITECTURE:
        raise ModelError(f"there is no filter of system calls for {machine}")
    # A call by another architecture's convention has other numbers.
    code = _step(_LOAD, _ARCHITECTURE_AT)
    code += _step(_EQUAL, _ARCHITECTURE[machine], 1, 0) + _step(_RETURN, _KILL)
    code += _step(_LOAD, _NUMBER_AT)
    for number in sorted(allowed_calls(machine)):
        code += _step(_EQUAL, number, 0, 1) + _step(_RETURN, _ALLOW)
    code += _check_argument(_CLONE[machine], _step(_ANY_BIT, _NEW_NAMESPACE, 0, 1))
    code += _check_argument(_SOCKETPAIR[machine], _step(_EQUAL, _AF_UNIX, 1, 0))
    return code + _step(_RETURN, _REFUSE)


def allowed_calls(machine: str) -> set[int]:
    """Return the numbers of the calls that are allowed with any arguments."""
    column = list(_ARCHITECTURE).index(machine) + 1
    numbers = [entry.split()[column] for entry in _ALLOWED.split(",")]
    return {int(number) for number in numbers if number != "-"}


def _check_argument(number: int, condition: bytes) -> bytes:
    """Allow a call when `condition` on its first argument jumps over one step, else refuse it."""
    test = _step(_LOAD, _ARGUMENT_AT) + condition
    return _step(_EQUAL, number, 0, 4) + test + _step(_RETURN, _REFUSE) + _step(_RETURN, _ALLOW)


def _step(code: int, value: int, jump_true: int = 0, jump_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, jump_true, jump_false, value)
