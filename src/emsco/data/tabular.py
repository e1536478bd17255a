"""Base class of classifiers that read tables by column name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from emsco._base.text import first_line, shorten
from emsco._base.typing import AnyArray
from emsco.costs import CostsLike, FeatureCosts
from emsco.data.labels import check_labelled
from emsco.data.rows import as_table, check_table, is_frame
from emsco.errors import DataError


class TableClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no stubs
    """A classifier of tables whose columns have names and costs."""

    costs: CostsLike
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that columns may hold text and categories."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the columns: of the data frame, else of the costs, else x0, x1, …."""
        if hasattr(self, "feature_names_in_"):
            return tuple(self.feature_names_in_)
        if isinstance(self.costs, FeatureCosts) and len(self.costs.table) == self.n_features_in_:
            return self.costs.table
        return tuple(f"x{i}" for i in range(self.n_features_in_))

    def _check_table(self, X: Any, y: ArrayLike) -> tuple[Any, AnyArray]:
        """Return X as a data frame or an array, and y, after checks."""
        if y is not None:
            check_labelled(y)
        X = as_table(X)
        check_table(X)
        with _in_one_sentence():
            validate_data(self, X, y, skip_check_array=True)
            targets = column_or_1d(y, warn=True)
            check_consistent_length(X, targets)
        return X, targets

    def _check_new_rows(self, X: Any) -> Any:
        """Return rows to decide after checks, to be read by name if the training rows had names."""
        X = as_table(X)
        if is_frame(X) and hasattr(self, "feature_names_in_"):
            return X  # columns may come in any order
        with _in_one_sentence():
            validate_data(self, X, reset=False, skip_check_array=True)
        return as_table(np.asarray(X))  # by position


@contextmanager
def _in_one_sentence() -> Iterator[None]:
    """Refuse with one sentence what scikit-learn refuses, sometimes with all values of a table."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise DataError(f"{shorten(first_line(error), 200).rstrip(':')}.") from None
