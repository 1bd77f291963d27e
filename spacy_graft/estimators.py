"""What the estimators are made of: scikit-learn's base classes and exceptions, or without it the little that is needed.

scikit-learn is an extra. With it, the estimators are its own kind: they can be cloned, searched over and put into
pipelines. Without it, they train and predict the same.
"""

from __future__ import annotations

import inspect
from typing import Any

try:
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.exceptions import DataConversionWarning, NotFittedError
except ImportError:

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
            changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value is not defaults[name]]
            return f"{type(self).__name__}({', '.join(changed)})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """Nothing: the estimators have a ``score`` of their own."""


def require_fitted(estimator: Any, attribute: str) -> None:
    """Raise a NotFittedError unless an estimator has what fitting gives it."""
    if not hasattr(estimator, attribute):
        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
            f"using this estimator. (The model has not been fitted yet: call fit first.)"
        )
