"""Settings from the machine's memory, on literal machines and control groups."""

from dataclasses import replace
from pathlib import Path

import pytest

from ragkit.store.server.tuning import (
    MB,
    Machine,
    build_settings,
    cgroup_limits,
    settings_for,
    this_machine,
)

GB = 2**30


def chosen(machine: Machine) -> list[str]:
    names = ["shared_buffers", "effective_cache_size", "work_mem", "maintenance_work_mem"]
    names += ["max_parallel_maintenance_workers"]
    return [settings_for(machine)[name] for name in names]


def test_memory_is_shared_out_by_size() -> None:
    assert chosen(Machine(512 * 2**20, 1)) == ["64MB", "256MB", "4MB", "64MB", "0"]
    assert chosen(Machine(8 * GB, 4)) == ["1024MB", "4096MB", "32MB", "512MB", "3"]
    assert chosen(Machine(256 * GB, 64)) == ["2048MB", "131072MB", "64MB", "2048MB", "7"]


def test_small_shared_memory_is_not_relied_on() -> None:
    name = "dynamic_shared_memory_type"
    assert settings_for(Machine(8 * GB, 4, shm_bytes=64 * 2**20))[name] == "mmap"
    assert name not in settings_for(Machine(8 * GB, 4, shm_bytes=4 * GB))
    assert name not in settings_for(Machine(8 * GB, 4, shm_bytes=None))


def test_only_tests_do_without_durability() -> None:
    machine = Machine(GB, 1)
    assert "fsync" not in settings_for(machine)
    assert settings_for(machine, durable=False)["fsync"] == "off"


def test_limits_of_both_kinds_of_control_groups_and_their_parents(tmp_path: Path) -> None:
    nested = tmp_path / "system.slice" / "ragkit.service"
    nested.mkdir(parents=True)
    (nested / "memory.max").write_text("max\n")
    (nested.parent / "memory.max").write_text("4000\n")
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "memory.limit_in_bytes").write_text("3000\n")
    membership = "4:memory:/docker/abc\n3:cpu,cpuacct:/x\n0::/system.slice/ragkit.service\n"
    assert list(cgroup_limits(membership, tmp_path)) == [3000, 4000]
    assert list(cgroup_limits("", tmp_path)) == []


def test_this_machine_has_memory_and_cores() -> None:
    machine = this_machine()
    assert machine.memory_bytes > 64 * 2**20
    assert machine.cores >= 1
    if machine.free_bytes is None:
        pytest.skip("this container has less memory than the machine: what is free is not known")
    assert 0 < machine.free_bytes <= machine.memory_bytes


def test_an_index_build_gets_what_its_graph_needs_and_the_machine_has() -> None:
    roomy = Machine(memory_bytes=16 * 1024 * MB, cores=4, shm_bytes=8 * 1024 * MB)
    assert build_settings(roomy, 800 * MB) == {
        "maintenance_work_mem": "850MB",
        "max_parallel_maintenance_workers": "3",
    }
    assert build_settings(roomy, 100 * 1024 * MB)["maintenance_work_mem"] == "4096MB"
    idle = replace(roomy, free_bytes=12 * 1024 * MB)
    assert build_settings(idle, 100 * 1024 * MB)["maintenance_work_mem"] == "9216MB"
    busy = replace(roomy, free_bytes=1024 * MB)
    assert build_settings(busy, 100 * 1024 * MB)["maintenance_work_mem"] == "768MB"
    container = Machine(memory_bytes=16 * 1024 * MB, cores=4, shm_bytes=64 * MB)
    assert build_settings(container, 800 * MB)["max_parallel_maintenance_workers"] == "0"
