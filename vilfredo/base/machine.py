"""What this machine lends to us: real cores and free memory, after affinity and cgroup limits."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

UNKNOWN_MEMORY = 4 << 30  # bytes; where nothing tells, a promise that most machines keep


@dataclass(frozen=True, slots=True)
class Machine:
    cores: int  # hyperthreads of one core count once
    memory_bytes: int  # free, or held by caches that give way


def this_machine(root: Path = Path("/"), processors: frozenset[int] | None = None) -> Machine:
    """`root` holds proc and sys; `processors` are those that we may run on (None: as the operating
    system says). Whatever cannot be read limits nothing."""
    if processors is None:
        processors = _our_processors()
    groups = list(_groups(root))
    cores = min([_real_cores(root, processors), *(q for g in groups for q in _cpu_quotas(g))])
    free = min([_free_memory(root), *(room for g in groups for room in _memory_rooms(g))])
    return Machine(cores=max(1, cores), memory_bytes=max(0, free))


def _our_processors() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _real_cores(root: Path, processors: frozenset[int]) -> int:
    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    siblings = {_read(root / topology.format(each)) or f"cpu{each}" for each in processors}
    return len(siblings)


def _groups(root: Path) -> Iterator[Path]:
    """Every control group that we are in, and those around it: each may limit."""
    mount = root / "sys/fs/cgroup"
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        for name in {"", *controllers.split(",")}:  # version 2 has no name, version 1 a mount each
            group = mount / name / path.lstrip("/")
            yield from (each for each in (group, *group.parents) if each.is_relative_to(mount))


def _cpu_quotas(group: Path) -> Iterator[int]:
    """Whole processors' worth of time; spinning threads beyond it would only be throttled."""
    quota, _, period = _read(group / "cpu.max").partition(" ")  # "max 100000" is no limit
    if not quota:
        quota = _read(group / "cpu.cfs_quota_us")  # -1 is no limit
        period = _read(group / "cpu.cfs_period_us")
    if quota.isdigit() and period.isdigit() and int(period) > 0:
        yield int(quota) // int(period)


def _memory_rooms(group: Path) -> Iterator[int]:
    """Limit less use, where the file cache, which gives way, does not count as use."""
    names = (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    )
    for limit_name, use_name, cache_name in names:
        limit, use = _read(group / limit_name), _read(group / use_name)
        if limit.isdigit() and use.isdigit():
            yield int(limit) - int(use) + _field(_read(group / "memory.stat"), cache_name)


def _free_memory(root: Path) -> int:
    available = _field(_read(root / "proc/meminfo"), "MemAvailable:")  # in kB
    return available * 1024 if available else _physical_memory()


def _physical_memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not every system has sysconf or these names
        return UNKNOWN_MEMORY


def _field(text: str, name: str) -> int:
    """The number after a name, in the format of many kernel files; 0 where there is none."""
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and words[0] == name and words[1].isdigit():
            return int(words[1])
    return 0


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
