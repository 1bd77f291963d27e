"""What the estimators are made of: scikit-learn's base classes and exceptions, or without it the little that is needed.

scikit-learn is an extra. With it, the estimators are its own kind: they can be cloned, searched over and put into
pipelines. Without it, they train and predict the same.
"""

from __future__ import annotations

import inspect
from dataclasses import fields, is_dataclass, replace
from typing import Any, ClassVar

#: What the options of the learner begin with among the parameters of an estimator.
LEARNER_PREFIX = "learner__"

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, NotFittedError
except ImportError:

    class ConvergenceWarning(UserWarning):  # type: ignore[no-redef]
        """A fit has not come to its optimum."""

    class NotFittedError(ValueError, AttributeError):  # type: ignore[no-redef]
        """A method was called that needs a fitted estimator."""

    class DataConversionWarning(UserWarning):  # type: ignore[no-redef]
        """Data were given in another shape than they should have."""

    class BaseEstimator:  # type: ignore[no-redef]
        """Parameters are the arguments of ``__init__``, kept as attributes of the same names."""

        @classmethod
        def _param_names(cls) -> list[str]:
            return sorted(name for name in inspect.signature(cls).parameters)

        def get_params(self, deep: bool = True) -> dict[str, Any]:
            """Return the parameters by name."""
            return {name: getattr(self, name) for name in self._param_names()}

        def set_params(self, **params: Any) -> Any:
            """Set parameters by name, and return the estimator."""
            for name, value in params.items():
                if name not in self._param_names():
                    raise ValueError(
                        f"Invalid parameter {name!r} for estimator {self!r}. "
                        f"Valid parameters are: {self._param_names()!r}."
                    )
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            defaults = {name: own.default for name, own in inspect.signature(type(self)).parameters.items()}
            params = self.get_params(deep=False)
            changed = [f"{name}={value!r}" for name, value in params.items() if value is not defaults[name]]
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """Nothing: the estimators have a ``score`` of their own."""


class LearnerEstimator(BaseEstimator):
    """An estimator of which the options of its learner are parameters as well: ``learner__l1``, say."""

    #: The learner if none is given.
    _default_learner: ClassVar[Any]
    learner: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep``, those of the learner after ``learner__``."""
        params: dict[str, Any] = super().get_params(deep)
        if deep:
            learner = self._learner_or_default()
            params |= {f"{LEARNER_PREFIX}{name}": getattr(learner, name) for name in option_names(learner)}
        return params

    def set_params(self, **params: Any) -> Any:
        """Set parameters by name, and return the estimator. The learner itself is never changed, but replaced."""
        of_learner = {name: params.pop(name) for name in [*params] if name.startswith(LEARNER_PREFIX)}
        super().set_params(**params)
        options = {name.removeprefix(LEARNER_PREFIX): value for name, value in of_learner.items()}
        if options:
            learner = self._learner_or_default()
            if unknown := [name for name in options if name not in option_names(learner)]:
                raise ValueError(
                    f"Invalid parameter {LEARNER_PREFIX + unknown[0]!r} for {type(self).__name__}. The options of "
                    f"{type(learner).__name__} are: {option_names(learner)!r}."
                )
            self.learner = replace(learner, **options)
        return self

    def _learner_or_default(self) -> Any:
        return self._default_learner if self.learner is None else self.learner


def option_names(learner: Any) -> list[str]:
    """The options of a learner; none of what is no settings."""
    return [field.name for field in fields(learner)] if is_dataclass(learner) else []


def require_fitted(estimator: Any) -> None:
    """Raise a NotFittedError unless an estimator has what fitting gives it: a model, with its report."""
    if not hasattr(estimator, "_model"):
        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            f"using this estimator."
        )
