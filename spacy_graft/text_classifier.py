"""The classifier of texts, bytes and sequences that no tokenizer has touched."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from .classifier import LinearClassifier, ReadDocuments
from .estimators import require_fitted
from .explain.features import Feature, by_effect, features_of, strongest_words
from .explain.scores import Explanation, alternatives_of
from .explain.texts import explain_text
from .extract.blocks import usual_min_df
from .extract.texts import IntegerSequences, SequenceReader, TextBytes, TextCharacters, TextWords
from .graft.data import TrainingData
from .graft.document_vectors import DocumentVectors
from .graft.emptiness import NothingToLearnError, warnings_of_all_documents, without_choice
from .graft.report import Report
from .graft.settings import CoordinateAscent, Grafting, GraftingPath
from .graft.solution import Solution
from .graft.start import final_solution
from .heap import no_collections
from .held_out import (
    FoldPoint,
    Judge,
    PlainTargets,
    Verdict,
    chosen_of_folds,
    fold_count,
    judged_by_folds,
    numbers_of_folds,
    points_of_fold,
    rows_of_splits,
    verdicts_of_folds,
)
from .index.places import IndexPlace
from .item_model import checked_learner, started_fit
from .matrices import require_readable
from .messages import count, listed, warn
from .options import check_flags
from .strengths import choices_of, first_ridge, first_strengths, with_best_strengths
from .text_model import VECTORS_READER, ReadTexts, TextModel, TextSpace, documents_of, vectors_reader
from .vectors.word_vectors import WordVectors

if TYPE_CHECKING:
    from .associations import SignificanceReport
    from .graft.points import PointFit

#: What an analyzer may be named.
ANALYZERS = ("char", "char_wb", "word", "byte", "integer")
Analyzer = str | Callable[[Any], Sequence[str]]


class GraftTextClassifier(LinearClassifier):
    r"""Sparse logistic regression over all n-grams of texts, bytes or sequences, of any length.

    The n-grams are searched implicitly: no matrix of them is built, and their length needs no limit. At one L1
    strength, the model is the optimum over all of them, with a bound of its distance to it (``report_``). It has a few
    hundred to a few thousand features, each an n-gram that can be read (``features``).

    With scikit-learn (``python -m pip install "spacy-graft[sklearn]"``) this is one of its estimators, with ``clone``,
    ``Pipeline``, ``GridSearchCV`` (over ``learner`` and the other parameters), ``cross_val_score``, and so on. It takes
    the place of both a vectorizer and a linear classifier.

    Parameters
    ----------
    learner : Grafting, GraftingPath or CoordinateAscent
        The learner: along a path of L1 strengths, at one strength, or without a penalty. By default ``GraftingPath()``,
        that of the spaCy component, which needs no tuning: cross-validation within ``fit`` chooses the number of
        features, their L2 strength, and an adjustment of scores that makes probabilities reliable. With word vectors,
        the default also chooses their strength (``vectors_choices``). ``Grafting(l1=1.0)`` is ten times faster or more
        and gives fewer features, which are easier to read; with a larger ``l1`` still fewer.
    analyzer : str, callable, or list of these
        What n-grams are made of; by default words, and characters within words:

        - ``"char"``: characters, with white space;
        - ``"char_wb"``: characters of one word, with a space on either side;
        - ``"word"``: words of letters, digits and underscores; any other character but white space is a word too;
        - ``"byte"``: bytes of any value; strings are encoded in UTF-8;
        - ``"integer"``: integers; a document is a sequence or an array of them;
        - a function from a document to a list of strings, such as ``re.compile(r"\w+").findall``.

        With several, features of all of them are searched at once.
    min_df : int or None, or list of these
        Least number of training documents with a feature; for several analyzers, one for all or one for each. None: 2,
        and 3 for characters and bytes; one less if there are fewer than 2,000 training documents, with fewer than a
        million words (or characters, or bytes). ``report_.min_df`` has what was used.
    max_length : int or None, or list of these
        Longest n-gram in characters, words, bytes or integers; any length if None.
    lowercase : bool
        Whether strings are lower-cased, unless the analyzer is ``"byte"`` or a function.
    penalty_factor : float, list of float, or None
        Factor of the penalty of features: with several analyzers, features of those with a larger one are used less.
        None means 1, but 1.5 for characters beside words: of a word and a part of it, the word is preferred.
    reverse_complement : bool
        For nucleic acids, with ``analyzer="char"``: a feature is an n-gram or its reverse complement, which count as
        one. Bases are A, C, G, T or U, and IUPAC's codes for several of them.
    ends : bool
        Whether the ends of a document are symbols as well, so that n-grams can say where it begins and where it ends:
        ``⊢what`` and ``?⊣``. Not within words, of integers, or with ``reverse_complement``.
    multilabel : bool
        Whether ``y`` has a collection of labels for each document. A matrix of zeros and ones with a column for each
        label needs no flag.

    Attributes
    ----------
    classes_ : array (n_labels,)
        The labels, sorted. Trained on a matrix of targets, the numbers of its columns.
    coef_ : sparse array (n_labels, n_features), or (1, n_features)
        Weights of the features of the model, in the order of ``get_feature_names_out``; of two labels that exclude each
        other, those of the second minus those of the first.
    intercept_ : array (n_labels,), or (1,)
    report_ : Report
        The training report: objective, duality gap over the whole space, seconds; what cross-validation has chosen.
        Also as ``report``.

    Notes
    -----
    ``GraftingPath()`` holds out a quarter of the documents at a time (from 2,500 on less, to a tenth) until 200 have
    been held out, so that it is trained up to four times on small corpora and once on large ones, and then on all
    documents. Nothing is drawn at random. With fewer than 10 documents there is no choice, and the last point of the
    path is the model. ``report_`` has ``points``, ``refit``, ``temperature``, ``tilt``, ``thresholds``,
    ``vectors_ridge`` and ``log_loss`` of what has been chosen.

    A value is 1 if the document has the n-gram, however often, and else 0; with ``length_normalisation`` of the
    learner, divided by the square root of the number of different words of the document. Words are separated by white
    space, whatever the analyzer; of documents that are neither strings nor bytes, symbols are counted. Of
    n-grams with the same training documents, the shortest is the feature. In characters, U+0000 and halves of surrogate
    pairs are breaks that no n-gram crosses; bytes have no breaks.

    With ``analyzer="char"`` or ``"char_wb"``, the model is that of the spaCy component over ``CharacterNgrams`` with
    the same options, to the bit, if the labels first appear in the documents in sorted order; unless lower-casing
    depends on the tokens (a final sigma), or the learner normalises lengths and the tokens are not the words.

    ``save`` and ``load`` keep a model without pickle: nothing is executed when it is read, and an altered file is
    refused. pickle and joblib work too, as for other estimators.

    A fit takes about 30 to 60 bytes of memory a character, byte or word at its peak (with ``min_df=1``, up to 140), one
    analyzer after the other. Documents are read once, in batches of 131,072 characters, and not kept: ``fit`` keeps 1
    to 4 bytes a character or word (1 a byte, 8 an integer) of them. So ``fit`` and ``predict`` also take generators.
    One fit takes at most 2**31 - 1 characters. A fitted model may be used by any number of threads.

    Examples
    --------
    >>> from spacy_graft import Grafting, GraftTextClassifier
    >>> texts = ["unlucky end", "lucky end", "an unfair game", "a fair game", "untold", "told"] * 5
    >>> labels = ["-", "+", "-", "+", "-", "+"] * 5
    >>> model = GraftTextClassifier(Grafting(l1=1.0), analyzer="char").fit(texts, labels)
    >>> model.predict(["an uneven game", "an even game"])
    array(['-', '+'], dtype='<U1')
    >>> [(feature.text, feature.df) for feature in model.features()]
    [('un', 15)]
    >>> round(model.score(texts, labels), 2)
    1.0

    As any classifier of scikit-learn; strengths fall by factors, and the largest that does well is the easiest to read:

    >>> from sklearn.model_selection import GridSearchCV
    >>> grid = {"learner": [Grafting(l1=strength) for strength in (10.0, 3.0, 1.0)], "analyzer": ["char", "word"]}
    >>> search = GridSearchCV(GraftTextClassifier(), grid, cv=3).fit(texts, labels)
    >>> search.best_params_["analyzer"], search.best_params_["learner"].l1, float(search.best_score_)
    ('char', 3.0, 1.0)

    Where in the text the features are that speak for a label:

    >>> model.explain(["an uneven game"])[0]["-"].contributions[0].members[0].places
    ((Span(start=3, end=5, first_token=0, end_token=0),),)

    Several labels for each text; none of them excludes another:

    >>> model = GraftTextClassifier(Grafting(l1=1.0), multilabel=True)
    >>> model.fit(texts, [["neg"] if "un" in text else ["pos", "short"] for text in texts]).predict(["untrue", "true"])
    [['neg'], ['pos', 'short']]

    Bytes:

    >>> files = [b"\x7fELF\x02\x01", b"\x89PNG\r\n", b"\x7fELF\x01\x01", b"\x89PNG\r\n\x1a"] * 5
    >>> model = GraftTextClassifier(Grafting(l1=1.0), analyzer="byte").fit(files, ["elf", "png"] * 10)
    >>> model.predict([b"\x7fELF\x02\x01\x00"]).tolist()
    ['elf']
    """

    _model: TextModel
    _default_learner: ClassVar[Any] = GraftingPath(vectors_choices=(0.3, 0.03, 0.0))
    _holds_out: ClassVar[bool] = True

    def __init__(
        self,
        learner: Grafting | GraftingPath | CoordinateAscent | None = None,
        *,
        analyzer: Analyzer | Sequence[Analyzer] = ("word", "char_wb"),
        min_df: int | Sequence[int | None] | None = None,
        max_length: int | Sequence[int | None] | None = None,
        lowercase: bool = True,
        penalty_factor: float | Sequence[float] | None = None,
        reverse_complement: bool = False,
        ends: bool = True,
        multilabel: bool = False,
    ) -> None:
        self.learner = learner
        self.analyzer = analyzer
        self.min_df = min_df
        self.max_length = max_length
        self.lowercase = lowercase
        self.penalty_factor = penalty_factor
        self.reverse_complement = reverse_complement
        self.ends = ends
        self.multilabel = multilabel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags

    def fit(
        self,
        X: Iterable[Any],
        y: Any,
        sample_weight: Any = None,
        *,
        vectors: WordVectors | Callable[[Any], WordVectors] | None = None,
        shards: IndexPlace | None = None,
    ) -> GraftTextClassifier:
        """Train until the learner's tolerance is met.

        Parameters
        ----------
        X : iterable
            The documents: a list, a column of an array or a DataFrame, or a generator of strings, bytes or sequences.
        y : iterable, or matrix
            A label for each document; with ``multilabel``, a collection of labels, or a mapping of labels to zeros and
            ones. Or a matrix of zeros and ones (n_documents, n_labels).
        sample_weight : sequence of float, optional
            The example weight of each document in the loss. Documents of weight 0 are left out.
        vectors : WordVectors or callable, optional
            Vectors of words, or one of the sources of ``@graft_vectors``: the mean of the vectors of a document's words
            is added to its n-grams. Words are those of the analyzer ``"word"`` or of a function, which must be among
            the analyzers. With :class:`GraftingPath`, cross-validation chooses their strength from ``vectors_ridge``
            and ``vectors_choices``: by default from 0.1, 0.3 and 0.03, or none. Other learners have ``vectors_ridge``.
        shards : InMemory, OnDisk or Dask, optional
            Where symbols and indexes are, and how many threads search; by default in memory, and as many threads as
            there are cores. The model is the same.

        Returns
        -------
        GraftTextClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If X is a single string, documents are of the wrong kind, the numbers of documents and labels differ, there
            are too few labels, no n-gram is in ``min_df`` documents, no word has a vector, or a parameter is invalid.
        """
        readers, X = self._readers(), documents_of(X)
        if not isinstance(shards, IndexPlace | None):
            raise ValueError(
                f"{type(self).__name__}: shards must be an InMemory, OnDisk or Dask, but is {shards!r:.80}."
            )
        learner = checked_learner(self)
        counts_words = getattr(learner, "length_normalisation", False)
        of_vectors: dict[str, Any] = {}
        if vectors is not None:
            reader = readers[VECTORS_READER] = vectors_reader(readers)
            given = self._checked_vectors(vectors).as_written(reader.form)

            def with_vectors(data: TrainingData, read: ReadTexts) -> TrainingData:
                words = read.streams[VECTORS_READER]
                columns = (reader.keys(given.words), words.symbols, words.starts)
                return replace(data, vectors=DocumentVectors.built(VECTORS_READER, given, *columns))

            of_vectors["completed"] = with_vectors
        self._fit(TextSpace(readers, shards, counts_words), X, y, sample_weight, **of_vectors)
        # Without the words of the training documents, which nothing needs any more and pickle would write.
        self._space = TextSpace(readers)
        return self

    def _trained(self, learner: Any, documents: ReadDocuments) -> tuple[Report, Solution]:
        """Train on all documents; a path to the point, refit and adjustment that cross-validation chooses."""
        if not isinstance(learner, GraftingPath):
            return super()._trained(learner, documents)
        data, chosen = documents.data(), None  # an error about the documents comes before folds
        try:
            chosen = report_of_folds(learner, documents)
        except NothingToLearnError as error:  # from what a fold keeps; all documents may have more
            warn(f"{type(self).__name__}: {without_choice(error)}")
        if chosen is None:
            return super()._trained(learner, documents)
        path = path_to(learner, data, chosen)
        self._check_report(path.report)
        path.refit = chosen.refit
        solution = final_solution(path)
        report = replace(
            path.report.copy(),
            finished=True,
            refit=chosen.refit,
            **chosen.adjustment._asdict(),
            thresholds=chosen.thresholds,
            log_loss=chosen.log_loss,
            log_loss_error=chosen.log_loss_error,
            n_folds=chosen.n_folds,
        ).with_strengths(chosen.strengths)
        return report, solution.adjusted(chosen.adjustment, documents.shares())

    def significance(
        self,
        X: Iterable[Any],
        y: Any,
        *,
        strata: Sequence[Hashable] | None = None,
        level: float = 0.05,
        permutations: int = 1000,
        top: int = 100,
        contexts: int = 0,
        seed: int = 0,
        pairs: int | None = None,
    ) -> SignificanceReport:
        """Test which n-grams go with which labels, as :func:`spacy_graft.significance` does; nothing is fitted.

        A ``min_df`` of None is that of large corpora here: 2, for characters and bytes 3.

        Parameters
        ----------
        X, y
            As those of :meth:`fit`.
        strata, level, permutations, top, contexts, seed, pairs
            As those of :func:`spacy_graft.significance`.

        Examples
        --------
        >>> from spacy_graft import GraftTextClassifier
        >>> texts = ["not good", "good", "not for me", "for me"] * 10
        >>> model = GraftTextClassifier(analyzer="word", ends=False)
        >>> report = model.significance(texts, ["-", "+"] * 20)
        >>> [(feature.text, feature.label, round(feature.z, 1)) for feature in report.features]
        [('not', '-', 6.2), ('not good', '-', 3.6), ('not for', '-', 3.6)]
        """
        documents = list(documents_of(X)) if contexts else X
        options = {"level": level, "permutations": permutations, "top": top, "contexts": contexts, "seed": seed}
        # Words of one document would raise the threshold for all others.
        readers: dict[str, Any] = self._readers()
        space = TextSpace({name: replace(reader, min_df=usual_min_df(reader)) for name, reader in readers.items()})
        return self._significance(space, documents, y, None, strata, {**options, "pairs": pairs})

    def _check_report(self, report: Report) -> None:
        if not report.n_columns:
            constrained = getattr(self.learner, "constraints", None) is not None
            min_df = ", ".join(f"{name}: {least:,}" for name, least in report.min_df.items())
            raise ValueError(
                f"empty vocabulary; no n-gram is in as many documents as min_df asks for ({min_df}). Lower min_df, or "
                f"see whether the documents are empty as the analyzer sees them"
                f"{', or whether the constraints deny all of it' if constrained else ''}."
            )

    def _readers(self) -> dict[str, SequenceReader]:
        """What the parameters say of each analyzer, by its name."""
        flags = {name: getattr(self, name) for name in ("lowercase", "reverse_complement", "ends")}
        check_flags(type(self).__name__, **flags)
        given: Any = self.analyzer
        require_readable("analyzer", given)
        is_one = isinstance(given, str) or callable(given) or not isinstance(given, Iterable)
        analyzers: list[Any] = [given] if is_one else list(given)
        if not analyzers:
            raise ValueError("GraftTextClassifier: analyzer must name at least one, but is empty.")
        names = names_of_analyzers(analyzers)
        options = {name: self._for_each(name, names) for name in ("min_df", "max_length", "penalty_factor")}
        if self.penalty_factor is None:
            options["penalty_factor"] = default_penalty_factors(analyzers)
        readers = {}
        for k, (name, analyzer) in enumerate(zip(names, analyzers, strict=True)):
            readers[name] = self._reader(analyzer, {option: values[k] for option, values in options.items()})
        return readers

    def _for_each(self, option: str, names: list[str]) -> list[Any]:
        """The value of an option for each analyzer."""
        value = getattr(self, option)
        if hasattr(value, "tolist"):  # an array, or a scalar of NumPy
            value = value.tolist()
        if not isinstance(value, list | tuple):
            return [value] * len(names)
        if len(value) != len(names):
            raise ValueError(
                f"GraftTextClassifier: {option} has {count(len(value), 'value')}, but there "
                f"{'is' if len(names) == 1 else 'are'} {count(len(names), 'analyzer')}: {listed(names)}."
            )
        return list(value)

    def _reader(self, analyzer: Any, options: dict[str, Any]) -> SequenceReader:
        if self.reverse_complement and analyzer not in ("char", "char_wb"):
            raise ValueError(
                f"GraftTextClassifier: reverse_complement is for characters, but there is the analyzer "
                f"{analyzer!r:.60}. Set analyzer='char'."
            )
        if analyzer in ("char", "char_wb"):
            return TextCharacters(
                **options,
                lowercase=self.lowercase,
                within_words=analyzer == "char_wb",
                reverse_complement=self.reverse_complement,
                ends=self.ends and analyzer == "char" and not self.reverse_complement,
            )
        if analyzer == "byte":
            return TextBytes(**options, ends=self.ends)
        if analyzer == "integer":
            return IntegerSequences(**options)
        analyzer = None if analyzer == "word" else analyzer
        return TextWords(**options, lowercase=self.lowercase, analyzer=analyzer, ends=self.ends)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the n-grams of the model, in the order of ``coef_``: array of str.

        With several analyzers, each is preceded by the name of its own: ``char_wb__un``.
        """
        names = super().get_feature_names_out()
        if len(set(self._model.readers) - {VECTORS_READER}) == 1:
            return names
        blocks = self._model.snapshot.features.blocks
        return np.array([f"{block}__{name}" for block, name in zip(blocks, names, strict=True)], object)

    def features(self) -> list[Feature]:
        """Return the features of the model, by falling effect: those that decide most come first."""
        require_fitted(self)
        return by_effect(features_of(self._model.snapshot, self.classes_.tolist(), self.report_.n_documents))

    @no_collections()
    def explain(self, X: Iterable[Any], *, against: Any = None) -> list[Explanation]:
        """Explain the prediction for each document.

        Parameters
        ----------
        X : iterable
            The documents.
        against : label, optional
            The label that others are compared with, if labels exclude each other; by default the most probable other
            one.

        Returns
        -------
        list of Explanation
            For each label its score, and the contributions of the document's features with their places, in characters
            of the document's text. Labels are strings there, but ``explanation[label]`` takes those of ``classes_``.
            In a notebook, an explanation is shown as the highlighted text.

        Raises
        ------
        ValueError
            If there is no such label, or ``against`` is given for independent labels.
        """
        require_fitted(self)
        model, documents = self._model, list(self._space.read(X))
        classes = self.classes_.tolist()
        labels = list(map(str, classes))
        if against is not None:
            # 1 is the label 1.0, as in a dictionary.
            against = str(classes[classes.index(against)] if against in classes else against)
        explanations = []
        for document, row in zip(documents, self.predict_proba(documents).tolist(), strict=True):
            probabilities = dict(zip(labels, row, strict=True))
            sides = alternatives_of(probabilities, self._exclusive, None, against)
            explanations.append(explain_text(model, document, probabilities, sides))
        return explanations

    def strongest_words(self, n: int = 100, label: Any = None) -> list[Feature]:
        """Return the words that the model knows by their vectors and that can move a score most, strongest first.

        Parameters
        ----------
        n : int
            How many words.
        label : optional
            The label whose score is meant; by default that of any label.
        """
        require_fitted(self)
        return strongest_words(self._model.snapshot, self.classes_.tolist(), n, self._checked_label(label))

    def _own_space(self) -> TextSpace:
        return TextSpace(self._readers())


class TextFold(NamedTuple):
    """A part of the documents that is held out, and what is trained on the others.

    Attributes
    ----------
    kept : TrainingData
        Of the documents that are not held out.
    held_out : ReadDocuments
    judge : Judge
        Those that are held out.
    """

    kept: TrainingData
    held_out: ReadDocuments
    judge: Judge

    def scorer(self, like: Solution) -> Callable[[Solution], np.ndarray]:
        """What gives the scores of documents held out under any solution with the features of ``like``."""
        return cast("TextSpace", self.held_out.space).scorer(self.held_out.documents, like)


def report_of_folds(learner: GraftingPath, documents: ReadDocuments) -> Report | None:
    """The point that held-out documents choose, with its refit and adjustment; None if there are too few.

    Memory: the symbols of the documents once more for each fold, of which small corpora have several; with word
    vectors, indexes as well.
    """
    texts = cast("ReadTexts", documents.documents).numbers()
    targets = documents.targets
    splits = rows_of_splits(numbers_of_folds(targets.keys(), texts, fold_count(len(texts))), targets.values)
    if not splits:
        return None
    learner, shares = replace(learner, stability=False), documents.shares()
    has_vectors = VECTORS_READER in cast("TextSpace", documents.space).readers
    choices = choices_of(learner, network=False, vectors=has_vectors)
    folds = []
    for kept, part in splits:
        try:
            data = documents.some(kept).data()
        except NothingToLearnError:
            if not has_vectors or first_ridge(learner):
                raise
            # Words with vectors are too few to judge them by, and the model may be without.
            data, choices = documents.some(kept).data_as_read(), []
        shared = replace(data, indexes={}) if choices else data
        folds.append(TextFold(shared, documents.some(part), judge_of(documents, part, learner, shares)))
    all_held_out = judge_of(documents, np.concatenate([part for _, part in splits]), learner, shares)
    with warnings_of_all_documents():
        paths = [path_of_fold(learner, fold, alone=len(folds) == 1) for fold in folds]
        chosen = chosen_of_folds(learner, verdicts_of_folds(all_held_out, paths, tempered=False))
        if has_vectors:
            chosen = chosen._replace(report=chosen.report.with_strengths(first_strengths(learner)))

        def judged_as(like: Report, option: str) -> Verdict | None:
            fits = ((path_to(learner, fold.kept, like), fold.scorer) for fold in folds)
            return judged_by_folds(learner, like, fits, all_held_out, tempered=False)

        chosen = with_best_strengths(learner, choices, chosen, all_held_out, judged_as)
    return replace(chosen.report, n_folds=len(splits))


def path_of_fold(learner: GraftingPath, fold: TextFold, alone: bool) -> list[FoldPoint]:
    """The points of a path as documents that are held out see them; ``alone`` if there are no other folds."""
    fit = path_like(learner, fold.kept, Report().with_strengths(first_strengths(learner)))
    return points_of_fold(fit.points(), fold.scorer, fold.judge, tempered=False, alone=alone)


def path_to(learner: GraftingPath, data: TrainingData, like: Report) -> PointFit:
    """A path with the strengths of a report, at the point at which another path has that report."""
    path = path_like(learner, data, like)
    for step in path.steps_to(like):
        step()
    return path


def path_like(learner: GraftingPath, data: TrainingData, like: Report) -> PointFit:
    """A path with the strengths of a report, before its first step."""
    if like.vectors_ridge == 0.0:
        data = replace(data, vectors=None)
    elif like.vectors_ridge is not None:
        learner = replace(learner, vectors_ridge=like.vectors_ridge)
    return cast("PointFit", started_fit(learner, data))


def judge_of(documents: ReadDocuments, rows: np.ndarray, learner: GraftingPath, shares: np.ndarray) -> Judge:
    """The judge by documents that are held out; ``shares`` are those of labels among all training documents."""
    values = replace(documents.targets, values=documents.targets.values[rows]).dense
    targets = PlainTargets(values, np.ones(values.shape, np.bool_), documents.weights[rows])
    return Judge(targets, documents.targets.exclusive, shares, learner.locks_weights)


def default_penalty_factors(analyzers: list[Any]) -> list[float]:
    """The factor of each analyzer, larger for parts of words: of a word and a part of it, the word is preferred."""
    with_words = any(callable(analyzer) or analyzer == "word" for analyzer in analyzers)
    return [1.5 if with_words and analyzer in ("char", "char_wb") else 1.0 for analyzer in analyzers]


def names_of_analyzers(analyzers: list[Any]) -> list[str]:
    """The names of the readers: those of analyzers, ``callable``, ``callable2`` and so on of functions."""
    names: list[str] = []
    for analyzer in analyzers:
        if callable(analyzer):
            n_before = sum(name.startswith("callable") for name in names)
            names.append(f"callable{n_before + 1}" if n_before else "callable")
        elif analyzer not in ANALYZERS or analyzer in names:
            raise ValueError(
                f"GraftTextClassifier: analyzer must be one of {listed(ANALYZERS)} or callable, or a list of different "
                f"ones, but is {analyzers!r}."
            )
        else:
            names.append(analyzer)
    return names
