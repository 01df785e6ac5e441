import os

import pytest

from vilfredo.base import machine
from vilfredo.base.machine import UNKNOWN_MEMORY, Machine, this_machine

GIB = 1 << 30


@pytest.fixture
def root(tmp_path):
    """A machine of four cores with two hyperthreads each, and 8 GiB free."""

    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path

    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    write({topology.format(each): f"{each % 4},{each % 4 + 4}\n" for each in range(8)})
    write({"proc/meminfo": f"MemTotal: 99 kB\nMemAvailable:   {8 * GIB // 1024} kB\n"})
    return write


ALL = frozenset(range(8))


def test_hyperthreads_count_once(root):
    assert this_machine(root({}), ALL) == Machine(cores=4, memory_bytes=8 * GIB)
    assert this_machine(root({}), frozenset({1, 5})).cores == 1
    assert this_machine(root({}), frozenset({1, 5, 2})).cores == 2


def test_processors_without_a_topology_are_cores(tmp_path):
    assert this_machine(tmp_path, frozenset({0, 1, 2})).cores == 3


@pytest.mark.parametrize(
    ("quota", "cores"),
    [("max 100000", 4), ("250000 100000", 2), ("50000 100000", 1), ("", 4), ("100000 0", 4)],
)
def test_a_quota_of_version_2_limits_from_any_level(root, quota, cores):
    files = {"proc/self/cgroup": "0::/kube/pod\n", "sys/fs/cgroup/kube/cpu.max": quota}
    assert this_machine(root(files), ALL).cores == cores


@pytest.mark.parametrize(("quota", "cores"), [("-1", 4), ("300000", 3)])
def test_a_quota_of_version_1(root, quota, cores):
    files = {
        "proc/self/cgroup": "3:cpu,cpuacct:/docker/7\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": quota,  # a container sees its own group as the root
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
    }
    assert this_machine(root(files), ALL).cores == cores


@pytest.mark.parametrize(
    ("limit", "free"), [("max", 8 * GIB), (str(4 * GIB), 2 * GIB), (str(GIB), 0)]
)
def test_a_memory_limit_of_version_2(root, limit, free):
    files = {
        "proc/self/cgroup": "0::/a/b\n",
        "sys/fs/cgroup/a/memory.max": limit,
        "sys/fs/cgroup/a/memory.current": str(3 * GIB),
        "sys/fs/cgroup/a/memory.stat": f"anon 7\ninactive_file {GIB}\n",
    }
    assert this_machine(root(files), ALL).memory_bytes == free


def test_a_memory_limit_of_version_1(root):
    files = {
        "proc/self/cgroup": "4:memory:/x\n",
        "sys/fs/cgroup/memory/x/memory.limit_in_bytes": str(2 * GIB),
        "sys/fs/cgroup/memory/x/memory.usage_in_bytes": str(GIB),
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "0",
    }
    assert this_machine(root(files), ALL).memory_bytes == GIB


def test_without_proc_the_physical_memory_counts(tmp_path, monkeypatch):
    sizes = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(machine.os, "sysconf", sizes.__getitem__, raising=False)
    assert this_machine(tmp_path, ALL).memory_bytes == 4_096_000
    monkeypatch.delattr(machine.os, "sysconf")
    assert this_machine(tmp_path, ALL).memory_bytes == UNKNOWN_MEMORY


def test_affinity_is_asked_where_the_system_has_it(tmp_path, monkeypatch):
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: {0, 3}, raising=False)
    assert this_machine(tmp_path).cores == 2
    monkeypatch.delattr(machine.os, "sched_getaffinity")
    monkeypatch.setattr(machine.os, "cpu_count", lambda: None)
    assert this_machine(tmp_path).cores == 1


def test_this_very_machine_has_a_core_and_memory():
    here = this_machine()
    assert 1 <= here.cores <= (os.cpu_count() or 1)
    assert here.memory_bytes > 0
