"""The active set: the pairs in the model, and the columns of their features."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .columns import PackedColumns, joined_columns
from .kernels import Pairs


@dataclass
class Active:
    """Active (feature, label) pairs, sorted by label so that a label's scores stay in cache.

    Memory: 4 bytes for each document of each active feature, 12 where a feature has values other than 1; but no more
    than a bit for each document of the corpus where more than an eighth of them have the feature, at 1.

    Attributes
    ----------
    columns : PackedColumns
        Those of the rows.
    rows, labels : int64 (pairs)
    penalty_weights : float64 (pairs)
        λ_ky.
    weights : float64 (pairs)
    """

    columns: PackedColumns
    rows: np.ndarray
    labels: np.ndarray
    penalty_weights: np.ndarray
    weights: np.ndarray

    @classmethod
    def empty(cls) -> Active:
        """No pairs, of no features."""
        none = np.empty(0, np.int64)
        return cls(joined_columns([]), none, none, np.empty(0), np.empty(0))

    @property
    def n_rows(self) -> int:
        return len(self.columns.are_bits)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pairs(self) -> Pairs:
        """What the kernels take."""
        return Pairs(self.columns, self.rows, self.labels)

    def by_row(self, n_labels: int) -> np.ndarray:
        """Which labels each row is active for: bool (rows, labels)."""
        active = np.zeros((self.n_rows, n_labels), np.bool_)
        active[self.rows, self.labels] = True
        return active

    def of_labels(self, first: int, stop: int) -> Active:
        """The pairs of labels ``first .. stop``, renumbered from 0; ``weights`` stays a view of this set's."""
        part = slice(*np.searchsorted(self.labels, (first, stop)))
        labels = self.labels[part] - first if first else self.labels[part]
        return Active(self.columns, self.rows[part], labels, self.penalty_weights[part], self.weights[part])

    def some(self, chosen: np.ndarray) -> Active:
        """The chosen pairs, with all columns."""
        return Active(
            self.columns, self.rows[chosen], self.labels[chosen], self.penalty_weights[chosen], self.weights[chosen]
        )

    def with_columns(self, columns: PackedColumns) -> Active:
        """More columns after those that are here, without pairs yet."""
        return replace(self, columns=joined_columns([self.columns, columns]))

    def with_pairs(self, rows: np.ndarray, labels: np.ndarray, penalty_weights: np.ndarray) -> Active:
        """More pairs, at weight zero."""
        rows = np.concatenate([self.rows, rows])
        labels = np.concatenate([self.labels, labels])
        order = np.lexsort((rows, labels))
        penalty_weights = np.concatenate([self.penalty_weights, penalty_weights])[order]
        weights = np.concatenate([self.weights, np.zeros(len(rows) - len(self))])[order]
        return Active(self.columns, rows[order], labels[order], penalty_weights, weights)

    def without_zeros(self, kept_rows: np.ndarray) -> tuple[Active, np.ndarray]:
        """The pairs with a weight and their columns, renumbered; and which rows are left (bool).

        ``kept_rows`` (int) are left even without pairs.
        """
        kept = self.weights != 0.0
        used = np.zeros(self.n_rows, np.bool_)
        used[kept_rows] = used[self.rows[kept]] = True
        row_of = np.cumsum(used) - 1
        active = Active(
            self.columns.some(used), row_of[self.rows[kept]], self.labels[kept],
            self.penalty_weights[kept], self.weights[kept],
        )  # fmt: skip
        return active, used
