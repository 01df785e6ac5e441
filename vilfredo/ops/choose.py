"""The one place where an op table is chosen by name."""

from vilfredo.base.errors import InvalidInput
from vilfredo.base.settings import AUTO, INVARIANT
from vilfredo.ops.reference import ReferenceKernels
from vilfredo.ops.table import Kernels, as_kernels

REFERENCE = ReferenceKernels.name


def tables() -> tuple[str, ...]:
    """Names of the tables that this machine can run, best first; "auto" means the first."""
    try:
        from vilfredo.ops.cpu import cpu_tables
    except ImportError:  # a source tree whose native core has not been built
        return (REFERENCE,)
    return (*cpu_tables(), REFERENCE)


def known_table(name: str) -> str:
    """The name itself, or that which "auto" or "invariant" means here. Raises InvalidInput, with
    the names that exist, for one that this machine cannot run."""
    known = tables()
    if name == AUTO:
        return known[0]
    if name == INVARIANT:
        return next((each for each in known if choose(each, 1).batch_invariant), REFERENCE)
    if name not in known:
        raise InvalidInput("table", f"{name!r} is none of {', '.join((AUTO, INVARIANT, *known))}")
    return name


def choose(name: str, threads: int) -> Kernels:
    """Raises InvalidInput as `known_table` does."""
    name = known_table(name)
    if name == REFERENCE:
        return as_kernels(ReferenceKernels())
    from vilfredo.ops.cpu import CpuKernels

    return as_kernels(CpuKernels(name, threads))
