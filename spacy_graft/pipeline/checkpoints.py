"""Checkpoints: the steps of a fit in files, from which another process goes on."""

from __future__ import annotations

import importlib.metadata
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..digests import digest_of
from ..files import reason_of, writing
from ..graft.data import TrainingData
from ..graft.report import Report
from ..index.places import InMemory
from ..messages import warn
from ..model.table import pack_message, unpack_message

if TYPE_CHECKING:
    from ..graft.label_batches import BatchedPath
    from ..graft.path import PathFit

#: Packages whose version can change the last bits of a model.
NUMERIC_PACKAGES = ("numpy", "scipy", "numba")
SEAL_BYTES = sha256().digest_size
#: Hexadecimal digits that name the folder of a fit.
NAME_DIGITS = 32


@dataclass
class Checkpoints:
    """The steps of one fit, a file each, in a folder of its own.

    A file appears whole or not at all. If it cannot be written or read, training goes on without checkpoints.

    Disk: for each step about 8 bytes a training document and label, and 100 a feature.

    Attributes
    ----------
    component : str
        Its name, for messages.
    folder : Path
    broken : bool
        Whether a file could not be written or read.
    """

    component: str
    folder: Path
    broken: bool = False

    @classmethod
    def of_fit(
        cls, component: str, folder: Path, learner: Any, data: TrainingData, towards: Report | None
    ) -> Checkpoints:
        """The checkpoints of a fit, in a folder inside of ``folder`` that is named by all that the result depends on.

        So fits of other documents, settings or versions never meet, and the same command finds its own. A fit that
        passes by points on its way to that of a report (``towards``) only meets others that go to the same one.
        """
        from .._numba import digest_at_start  # loads the compiler

        destination = None if towards is None else (towards.points, towards.l1_ratio)
        versions = {name: importlib.metadata.version(name) for name in NUMERIC_PACKAGES}
        digest = digest_of([__version__, digest_at_start(), versions, learner, reportless(data), destination])
        return cls(component, folder / digest[:NAME_DIGITS])

    def do(self, path: PathFit | BatchedPath, step: Callable[[], None]) -> None:
        """Take the next step of a path from its checkpoint, or do and save it."""
        number = path.report.points + 1
        saved = self.load(number)
        if saved is not None:
            path.resume(saved)
        else:
            step()
            self.save(number, path.to_dict())

    def load(self, step: int) -> Any:
        """The state that was saved after a step, or None.

        Raises
        ------
        ValueError
            If the file is damaged, or in the place of another.

        Warns
        -----
        UserWarning
            If it cannot be read.
        """
        if self.broken:
            return None
        path = self._path(step)
        try:
            sealed = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            self._go_on_without(f"The checkpoint of step {step} cannot be read", error)
            return None
        content = sealed[SEAL_BYTES:]
        if self._seal(step, content) != sealed[:SEAL_BYTES]:
            raise ValueError(
                f"[{self.component}] The checkpoint {path} is damaged, or it is that of another step or training. "
                f"Delete it, and training goes on from the one before."
            )
        return unpack_message(content)

    def save(self, step: int, state: dict[str, Any]) -> None:
        """Write the state after a step.

        Warns
        -----
        UserWarning
            If it cannot be written.
        """
        if self.broken:
            return
        content = pack_message(state)
        try:
            with writing(self._path(step)) as file:
                file.write(self._seal(step, content))
                file.write(content)
        except OSError as error:
            self._go_on_without(f"The checkpoint of step {step} cannot be written", error)

    def _go_on_without(self, problem: str, error: OSError) -> None:
        """Warn of a file that cannot be used, and use no further ones."""
        self.broken = True
        last = (
            f": if it is interrupted, it is resumed from the last one in {self.folder}" if self.folder.is_dir() else ""
        )
        warn(f"[{self.component}] {problem} ({reason_of(error)}). Training goes on without checkpoints{last}.")

    def _seal(self, step: int, content: bytes) -> bytes:
        """A digest of the content and of the place that it belongs to."""
        seal = sha256(f"{self.folder.name}/{step}/".encode())
        seal.update(content)
        return seal.digest()

    def _path(self, step: int) -> Path:
        return self.folder / f"step-{step:04}"


def delete_checkpoints(folder: Path) -> None:
    """Delete the checkpoints of all fits in a folder, and the folder if it has nothing else."""
    for of_fit in folder.glob("[0-9a-f]" * NAME_DIGITS):
        shutil.rmtree(of_fit, ignore_errors=True)
    with suppress(OSError):
        folder.rmdir()


def reportless(data: TrainingData) -> TrainingData:
    """The data without what follows from it, and what the builder of a network reports: times and paths, say."""
    data = replace(data, indexes=None, names=None, place=InMemory(1))
    if data.network is None:
        return data
    return replace(data, network=replace(data.network, graph=replace(data.network.graph, report={})))
