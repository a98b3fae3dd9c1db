"""PostgreSQL settings for this machine: how much memory and how many cores it may use.

Knows nothing of files, processes or what is stored; `settings_for` is pure.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Machine:
    """What a process may use here; `shm_bytes` is the size of the shared-memory file system.

    `free_bytes` of the memory can be had now; None where that is not known, as in a container.
    """

    memory_bytes: int
    cores: int
    shm_bytes: int | None = None
    free_bytes: int | None = None


def this_machine(cgroups: Path = Path("/sys/fs/cgroup")) -> Machine:
    """Measure the machine, or the container if that allows less."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        shm = os.statvfs("/dev/shm")  # noqa: S108  only its size is read
        shm_bytes = shm.f_frsize * shm.f_blocks
    except OSError:  # not on this system; PostgreSQL then takes another way
        shm_bytes = None
    try:
        membership = Path("/proc/self/cgroup").read_text()
    except OSError:
        membership = ""
    memory = min([physical, *cgroup_limits(membership, cgroups)])
    return Machine(memory, cores or 1, shm_bytes, _free_bytes() if memory == physical else None)


def _free_bytes() -> int | None:
    """Read how much memory new programs can have without swapping: see proc_meminfo(5)."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    amounts = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(amounts[0]) * 1024 if amounts else None


def cgroup_limits(membership: str, root: Path) -> Iterator[int]:
    """Yield every memory limit, in bytes, that stands over the groups of a /proc/PID/cgroup text.

    Inside a container the group's own folder may be the root, so each parent is looked at too.
    """
    for line in membership.splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            base, name = root, "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "memory", "memory.limit_in_bytes"
        else:
            continue
        path = PurePosixPath(group.lstrip("/"))
        for folder in [path, *path.parents]:
            try:
                limit = (base / folder / name).read_text().strip()
            except OSError:
                continue
            if limit.isdecimal():  # not "max"
                yield int(limit)


def settings_for(machine: Machine, *, durable: bool = True) -> dict[str, str]:
    """Choose the server's settings.

    The shares of memory are arbitrary but modest: the embedding model and the parsers live on the
    same machine. What is not set for memory is set for one machine without replicas.
    """
    memory = machine.memory_bytes
    # An HNSW graph of 1M halfvec(384) takes about 1 GB; beyond maintenance_work_mem it spills.
    maintenance = _clamp(memory // 16, 64 * MB, 2048 * MB)
    settings = {
        # The default of 128 MB made filtered scans 1.7 times slower.
        "shared_buffers": _mb(_clamp(memory // 8, 32 * MB, 2048 * MB)),
        "effective_cache_size": _mb(memory // 2),
        "work_mem": _mb(_clamp(memory // 256, 4 * MB, 64 * MB)),
        "maintenance_work_mem": _mb(maintenance),
        "autovacuum_work_mem": _mb(min(maintenance, 256 * MB)),
        "max_parallel_workers": str(machine.cores),
        "max_parallel_maintenance_workers": str(_clamp(machine.cores - 1, 0, 7)),
        "max_wal_size": "2GB",  # fewer checkpoints while much is loaded
        "checkpoint_timeout": "15min",
        "wal_level": "minimal",  # no replicas: an index built by its own transaction needs no log
        "max_wal_senders": "0",
        "random_page_cost": "1.1",  # solid-state disks
        "jit": "off",  # compiling takes longer than our short queries
        "client_connection_check_interval": "1s",  # a killed client's long statement ends
        "log_checkpoints": "off",
    }
    if machine.shm_bytes is not None and machine.shm_bytes < maintenance + 64 * MB:
        # A container's /dev/shm is 64 MB by default; a parallel index build wants all of
        # maintenance_work_mem there. Files in the data folder have the room.
        settings["dynamic_shared_memory_type"] = "mmap"
    if not durable:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    return settings


def build_settings(machine: Machine, graph_bytes: int) -> dict[str, str]:
    """Choose what building one index may use: memory for its graph, and every core.

    Of what is free three quarters, or a quarter of all where that is not known: both are arbitrary.
    A graph that does not fit is finished on the disk, row by row, several times more slowly. A
    parallel build has its memory in /dev/shm, where it stands there at all; without room it is
    built by one process.
    """
    wanted = graph_bytes + graph_bytes // 16  # a parallel build takes all of it at once
    free = machine.free_bytes
    most = machine.memory_bytes // 4 if free is None else free * 3 // 4
    memory = _clamp(wanted, 64 * MB, max(64 * MB, most))
    workers = _clamp(machine.cores - 1, 0, 7)
    if machine.shm_bytes is not None and machine.shm_bytes < memory + 64 * MB:
        workers = 0
    return {
        "maintenance_work_mem": _mb(memory),
        "max_parallel_maintenance_workers": str(workers),
    }


def _clamp(value: int, low: int, high: int) -> int:
    return max(low, min(value, high))


def _mb(size_bytes: int) -> str:
    return f"{size_bytes // MB}MB"
