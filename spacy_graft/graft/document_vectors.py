"""Document vectors: the dense columns of a corpus, as they are made of the vectors of its words.

The vector of a document is the mean over its tokens, m_i = Σ_t s_t v_t / Σ_t s_t, with s_t = a / (a + p_t), where p_t
is the share of the word among all tokens of the training corpus (Arora, Liang & Ma, ICLR 2017: smooth inverse
frequency). The dense columns are z_i = (m_i − m) A, where m is the mean over training documents. A turns the space so
that columns are orthogonal, and scales it so that the mean of ‖z_i‖² is 1. A document without a known word has z_i = 0.

Since the shares of a document sum to 1, z_i · u is a mean as well: word t adds (v_t − m) · A u to its part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..solve.dense import DenseColumns
from ..threads import limited_threads
from ..vectors.word_scores import Fold, Lexicon, WordScores, found_rows
from ..vectors.word_vectors import WordVectors
from .emptiness import NothingToLearnError

if TYPE_CHECKING:
    from scipy import sparse

#: Norm of document vectors, in units of that of word vectors, under which nothing but rounding is left of them.
NEGLIGIBLE_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class DocumentVectors:
    """Dense columns of documents, and how the weights of these become scores of words.

    Attributes
    ----------
    block : str
        The block that reads the words.
    columns : DenseColumns
    lexicon : Lexicon
        The words that a model knows.
    vectors : float32 (n_vectors, n_columns)
    places : int64 (n_words)
        Which of them each word of the lexicon has.
    mean : float64 (n_columns)
        m.
    axes : float64 (n_columns, n_columns)
        A.
    report : dict
        Words and their coverage, in plain values.
    digest : str
        Of the given vectors, if models find them in their pipeline. Else empty.
    """

    block: str
    columns: DenseColumns
    lexicon: Lexicon
    vectors: np.ndarray
    places: np.ndarray
    mean: np.ndarray
    axes: np.ndarray
    report: dict[str, Any]
    digest: str

    @classmethod
    def built(
        cls,
        block: str,
        given: WordVectors,
        given_symbols: np.ndarray,
        symbols: np.ndarray,
        starts: np.ndarray,
        smoothing: float = 1e-2,
        kept: str = "all",
    ) -> DocumentVectors:
        """The document vectors of a training corpus.

        Parameters
        ----------
        block : str
        given : WordVectors
        given_symbols : uint64 (n_words)
            The symbols of their words in the block.
        symbols : uint64 (n_symbols)
            Of the corpus: document ``i`` is at ``starts[i] : starts[i + 1]``.
        starts : int64 (n_documents + 1)
        smoothing : float
            a.
        kept : str
            What models know: "all" words, those of the "training" corpus, or all words of their "pipeline", which keeps
            their vectors.

        Raises
        ------
        ValueError
            If no word of the corpus has a vector, or all documents have the same.
        """
        from scipy import sparse  # which trained models do without

        found = found_rows(symbols, given_symbols)
        has_vector = found >= 0
        if not has_vector.any():
            raise NothingToLearnError(
                f"{given.source}: none of its {len(given):,} words is in the training documents, whose words in block "
                f"{block!r} are others. Check the language, and whether words are in lower case or have punctuation in "
                f"them."
            )
        documents = np.repeat(np.arange(len(starts) - 1), np.diff(starts))[has_vector]
        rows, places = np.unique(found[has_vector], return_inverse=True)
        counts = np.bincount(places)
        shares = (smoothing / (smoothing + counts / len(symbols))).astype(np.float32)
        presence = sparse.csr_array(
            (np.ones(len(places)), (documents, places)), shape=(len(starts) - 1, len(rows))
        )  # counts of words in documents
        mean, axes, columns = document_columns(presence, shares, given.vectors[given.places[rows]], given.source)
        every = np.ones(len(given), np.float32)
        every[rows] = shares
        known = np.zeros(len(given), np.int32)
        by_word = presence.tocsc()
        by_word.sum_duplicates()  # older versions of SciPy keep repeated entries apart
        known[rows] = np.diff(by_word.indptr)
        lexicon, used = Lexicon(given.words, given_symbols, every, known), given.places
        if kept == "training":
            lexicon, used = lexicon.some(rows), used[rows]
        report = {
            "words": len(given),
            "columns": int(given.vectors.shape[1]),
            "words_in_training": len(rows),
            "coverage": float(has_vector.mean()),
        }
        digest = given.digest(given_symbols) if kept == "pipeline" else ""
        return cls(block, DenseColumns(columns), lexicon, given.vectors, used, mean, axes, report, digest)

    def word_scores(self, weights: np.ndarray) -> WordScores:
        """The scores of words by weights of the columns: float64 (n_columns, labels)."""
        return WordScores(
            self.block, self.lexicon, Fold(self.vectors, self.places, self.mean, self.axes @ weights), self.digest
        )


@limited_threads("blas")
def document_columns(
    counts: sparse.csr_array, shares: np.ndarray, vectors: np.ndarray, source: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """m, A and zᵀ (n_columns, documents) of documents with these counts of words (documents, words)."""
    weighted = (counts * shares.astype(np.float64)).tocsr()
    totals = np.asarray(weighted.sum(axis=1)).reshape(-1)
    filled = totals > 0.0
    means = (weighted @ vectors.astype(np.float64)) / np.where(filled, totals, 1.0)[:, None]
    mean = means[filled].mean(axis=0)
    means[filled] -= mean
    spread = float(np.sqrt((means**2).sum() / filled.sum()))
    if not spread > NEGLIGIBLE_SPREAD * float(np.sqrt(np.square(vectors, dtype=np.float64).sum(axis=1).mean())):
        raise NothingToLearnError(
            f"{source}: all training documents have the same vector, which distinguishes none of them."
        )
    _, axes = np.linalg.eigh(means.T @ means)
    axes = np.ascontiguousarray(axes[:, ::-1]) / spread
    return mean, axes, np.ascontiguousarray((means @ axes).T)
