"""The least memory that a fit needs, against the memory that is left: what cannot end is refused before it begins.

Independent labels of too many pairs with documents are fitted in batches (:mod:`spacy_graft.graft.label_batches`), so
that their number is no limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from .data import TrainingData

#: The least that a fit holds at its peak beside its data, in bytes a document and trained label: scores, residuals,
#: probabilities and what they are computed from. More than two exclusive labels are one problem, others one each.
LEAST_BYTES_EXCLUSIVE, LEAST_BYTES = 60, 48
#: Bytes of :class:`TrainingData` a document and label.
BYTES_OF_DATA = 9
#: Bytes of a permutation test a document and label, beside these: what is permuted.
BYTES_OF_TEST = 8
#: Independent labels are fitted in batches if there are at least so many, with more pairs with documents than this:
#: all at once they would take more time and memory.
MANY_LABELS, DOCUMENT_LABELS = 64, 2**20


def has_many_labels(n_documents: int, n_labels: int, exclusive: bool) -> bool:
    """Return whether labels are independent and too many to be fitted at once."""
    return not exclusive and n_labels >= MANY_LABELS and n_documents * n_labels > DOCUMENT_LABELS


def require_memory(data: TrainingData) -> None:
    """Raise a ValueError if a fit of all labels at once needs more memory than there is."""
    n_labels = data.n_positive
    check_available(data.n_documents, n_labels, least_bytes(data.n_documents, n_labels, data.exclusive))


def require_memory_for(n_documents: int, n_labels: int, exclusive: bool) -> None:
    """Raise a ValueError if training needs more memory than there is, its data included.

    The figure is a lower bound that grows with documents × labels. What the texts need is not part of it. Independent
    labels that are fitted in batches are not refused here: their targets are sparse.

    ``n_labels`` are those with a positive document.

    Raises
    ------
    ValueError
        With the memory that is needed, the memory that is available, and what to do.
    """
    if has_many_labels(n_documents, n_labels, exclusive):
        return
    needed = least_bytes(n_documents, n_labels, exclusive) + n_documents * n_labels * BYTES_OF_DATA
    check_available(n_documents, n_labels, needed)


def require_memory_of_test(n_documents: int, n_labels: int) -> None:
    """Raise a ValueError if a permutation test of all labels, its data included, needs more memory than there is."""
    check_available(n_documents, n_labels, n_documents * n_labels * (BYTES_OF_DATA + BYTES_OF_TEST), "The test")


def least_bytes(n_documents: int, n_labels: int, exclusive: bool) -> int:
    """Return the least memory of a fit beside its data."""
    return n_documents * n_labels * (LEAST_BYTES_EXCLUSIVE if exclusive and n_labels > 2 else LEAST_BYTES)


def check_available(n_documents: int, n_labels: int, needed: int, what: str = "Training") -> None:
    """Raise a ValueError if there is less memory than needed."""
    available = available_bytes()
    if available is not None and needed > available:
        raise ValueError(
            f"{what} needs at least {needed / 1e9:.1f} GB of memory for {n_documents:,} documents × {n_labels:,} "
            f"labels, and {available / 1e9:.1f} GB are available. Take fewer documents or labels (merge or "
            f"leave out rare labels, or divide them among components), or provide more memory."
        )


def available_bytes() -> int | None:
    """Return the memory that this process can still take; None where it is unknown, as outside Linux.

    It is the least of what the machine has (with swap and what can be freed), what its control groups allow, and what
    the limit of its address space (``ulimit -v``) allows.
    """
    bounds = [*machine_bytes(Path("/proc/meminfo")), *group_bytes(Path("/proc/self/cgroup")), *address_space_bytes()]
    return max(0, min(bounds)) if bounds else None


def machine_bytes(meminfo: Path) -> Iterator[int]:
    """Yield the memory of the machine that is available, with swap."""
    sizes = numbers_by_name(meminfo)
    if "MemAvailable" in sizes:
        yield 1024 * (sizes["MemAvailable"] + sizes.get("SwapFree", 0))


def group_bytes(membership: Path, root: Path = Path("/sys/fs/cgroup")) -> Iterator[int]:
    """Yield what the control groups of this process, of version 1 or 2, and the groups around them leave."""
    for line in text_of(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "memory":
            top, limit_name, used_name = root / "memory", "memory.limit_in_bytes", "total_rss"
        elif not controllers:
            top, limit_name, used_name = root, "memory.max", "anon"
        else:
            continue
        group = top / path.lstrip("/")
        # In a container, the path may be that of the host, and only the top exists.
        for folder in (group, *(parent for parent in group.parents if parent.is_relative_to(top))):
            limit = text_of(folder / limit_name).strip()
            if limit.isdecimal():
                # Files that are cached do not count, since they can be dropped.
                yield int(limit) - numbers_by_name(folder / "memory.stat").get(used_name, 0)


def address_space_bytes() -> Iterator[int]:
    """Yield what the limit of the address space leaves."""
    try:
        import resource
    except ImportError:  # Windows
        return
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    sizes = text_of(Path("/proc/self/statm")).split()
    if limit != resource.RLIM_INFINITY and sizes:
        yield limit - int(sizes[0]) * os.sysconf("SC_PAGE_SIZE")


def numbers_by_name(path: Path) -> dict[str, int]:
    """Return the numbers in a table of names and numbers; empty if there is no such file."""
    rows = (line.replace(":", " ").split() for line in text_of(path).splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) > 1 and row[1].isdecimal()}


def text_of(path: Path) -> str:
    """Return the content of a file of the system; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
