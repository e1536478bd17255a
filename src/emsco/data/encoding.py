"""Encodings turn a table's columns into inputs; they are learnt from training rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_choice
from emsco._base.documents import Fields
from emsco._base.text import brief
from emsco._base.typing import BoolArray, FloatArray, IntArray, Kind
from emsco.costs import FeatureCosts
from emsco.data.columns import ColumnCode, without_values
from emsco.data.rows import (
    LARGEST,
    Table,
    arrow_numbers,
    as_table,
    check_finite,
    column_names,
    is_frame,
    is_missing,
)
from emsco.errors import DataError

GAPS = ("refuse", "impute", "skip")


@dataclass(frozen=True, eq=False)
class Encoding:
    """Encoding of a table's columns as inputs of models.

    Attributes
    ----------
    codes : tuple of ColumnCode
        Code of each column, in the order of the table.
    features : tuple of str
        Features to buy: single columns and groups of columns.
    feature_of : tuple of int
        Position of each column's feature.
    gaps : {"refuse", "impute", "skip"}
        With "refuse", a missing value is an error; otherwise it is NaN in all inputs of its
        column. With "impute", a column with missing values in training has one more input that
        marks them.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"age": [63, 41], "colour": ["red", "blue"]})
    >>> encoding = Encoding.learn(table, FeatureCosts.resolve(None, table.columns))
    >>> encoding.codes[1].categories
    ('blue', 'red')
    >>> encoding.rows(pd.DataFrame({"colour": ["red", "green"], "age": [50, 30]})).tolist()
    [[50.0, 0.0, 1.0], [30.0, 0.0, 0.0]]
    """

    codes: tuple[ColumnCode, ...]
    features: tuple[str, ...]
    feature_of: tuple[int, ...]
    gaps: str = "refuse"

    @classmethod
    def learn(
        cls,
        table: Any,
        costs: FeatureCosts,
        gaps: str = "refuse",
        what: str = "X",
        first_row: int = 0,
    ) -> Encoding:
        """Learn the encoding of a table of training rows.

        Parameters
        ----------
        table : data frame or array-like of shape (n_rows, n_columns)
            A data frame is read by column names, an array in the order of ``costs.table``.
        costs : FeatureCosts
            The columns, and the feature of each.
        gaps : {"refuse", "impute", "skip"}
        what : str
            Name of the table in messages.
        first_row : int
            Number of the first row in messages.
        """
        check_choice("gaps", gaps, GAPS)
        names = costs.table
        columns = Table(table, names, what, first_row)
        if columns.known is None:
            codes = [
                ColumnCode.learn(name, columns.column(i), what) for i, name in enumerate(names)
            ]
        else:
            codes = list(map(ColumnCode, names, columns.known))
        features = tuple(costs.column_features(names).tolist())
        encoding = cls(tuple(codes), costs.names, features, gaps)
        # Missing values are refused anyway, so nobody has to look for them.
        if gaps == "refuse":
            return encoding
        missing = np.isnan(encoding.rows(table, first_row, what)[:, list(encoding.starts[:-1])])
        if (is_empty := missing.all(axis=0)).any():
            raise without_values(names[int(np.argmax(is_empty))], what)
        # A mark is one more input, so only columns that had missing values in training get one.
        marks: list[bool] = np.logical_and(missing.any(axis=0), gaps == "impute").tolist()
        marked = [
            replace(code, marks_missing=mark) for code, mark in zip(codes, marks, strict=True)
        ]
        return replace(encoding, codes=tuple(marked))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the table's columns, in order."""
        return tuple(code.name for code in self.codes)

    @cached_property
    def kinds(self) -> dict[str, Kind]:
        """Kind of each column, by name."""
        return {code.name: code.kind for code in self.codes}

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Position of each column's first input, and at the end the number of inputs."""
        widths = [code.n_inputs for code in self.codes]
        return tuple(np.cumsum([0, *widths]).tolist())

    @property
    def n_inputs(self) -> int:
        """Number of inputs."""
        return self.starts[-1]

    @cached_property
    def input_columns(self) -> tuple[str, ...]:
        """Column of each input."""
        return tuple(code.name for code in self.codes for _ in range(code.n_inputs))

    @cached_property
    def input_feature(self) -> IntArray:
        """Position of each input's feature, as a read-only array."""
        widths = [code.n_inputs for code in self.codes]
        features: IntArray = np.repeat(np.array(self.feature_of, dtype=np.int64), widths)
        features.setflags(write=False)
        return features

    def rows(self, table: Any, first_row: int = 0, what: str = "X") -> FloatArray:
        """Return the inputs of a table's rows, shape (n_rows, n_inputs), missing values as NaN.

        Parameters
        ----------
        table : data frame or array-like of shape (n_rows, n_columns)
            A data frame may have its columns in any order, and other columns too.
        first_row : int
            Number of the first row in messages.
        what : str
            Name of the table in messages.

        Raises
        ------
        DataError
            If a column is missing or holds another kind of value than in training; if a value is
            infinite or above 1e100 in size, or missing although `gaps` is "refuse".
        """
        columns, numbers = Table(table, self.columns, what, first_row), None
        if columns.known is not None and all(code.kind != "category" for code in self.codes):
            rows = numbers = columns.numbers()
        if numbers is None or self.n_inputs > len(self.codes):
            rows = np.empty((columns.n_rows, self.n_inputs))
            for i, code in enumerate(self.codes):
                start, end = self.starts[i : i + 2]
                if code.kind == "category":
                    code.fill(rows[:, start : start + code.n_values], columns.column(i), what)
                elif numbers is None:
                    rows[:, start] = arrow_numbers(columns.column(i), code.name, what)
                else:
                    rows[:, start] = numbers[:, i]
                if code.marks_missing:
                    rows[:, end - 1] = np.isnan(rows[:, start])
        for code, start in zip(self.codes, self.starts, strict=False):
            if code.kind == "truth":
                _check_truth(rows[:, start], code.name, what, first_row)
        # A missing category is NaN in all of its inputs, so this finds it, too.
        check_finite(rows, self.input_columns, what, first_row, gaps=self.gaps != "refuse")
        return rows

    def rows_of(
        self, features: Sequence[str], table: Any, first_row: int = 0, what: str = "X"
    ) -> FloatArray:
        """Return the inputs of a table's rows of which only the named features are known.

        A data frame needs only the columns of these features, and other columns are not read; the
        inputs of other features are 0. An array has all columns. Parameters are those of `rows`.
        """
        table = as_table(table, what)
        if not is_frame(table) or len(features) == len(self.features):
            return self.rows(table, first_row, what)
        asked = {column for feature in features for column in self.needs(feature)}
        return self._placed(asked, table, first_row, what, self.gaps)

    def rows_bought(
        self, columns: Sequence[str], table: Any, first_row: int = 0, what: str = "X"
    ) -> tuple[FloatArray, BoolArray]:
        """Return the inputs of rows that may lack some of `columns`, and what each row has.

        The second array, (n_rows, n_columns), marks values that were bought. A column that a data
        frame lacks was not. Nor was a missing value, if `gaps` is "refuse"; otherwise it was bought
        and could not be measured. Inputs of other columns are 0. The first array may be that of the
        table itself.
        """
        table = as_table(table, what)
        there = set(columns).intersection(column_names(table) if is_frame(table) else columns)
        rows = self._placed(there, table, first_row, what, "skip")  # missing values are NaN
        bought = np.zeros((len(rows), len(columns)), dtype=np.bool_, order="F")
        for i, column in enumerate(columns):
            if column in there:
                missing = np.isnan(rows[:, self.inputs_of(column).start])
                bought[:, i] = ~missing if self.gaps == "refuse" else True
        return rows, bought

    def _placed(
        self, columns: Collection[str], table: Any, first_row: int, what: str, gaps: str
    ) -> FloatArray:
        """Return the inputs of some columns at their places, and 0 elsewhere.

        Columns of an array are known by their order, so all of them must be there.
        """
        known = [name for name in self.columns if name in columns or not is_frame(table)]
        codes = tuple(self.code_of[name] for name in known)
        part = Encoding(codes, tuple(known), tuple(range(len(known))), gaps)
        values = part.rows(table, first_row, what)
        if len(columns) == len(self.codes):
            return values
        rows = np.zeros((len(values), self.n_inputs))
        for column in columns:
            rows[:, self.inputs_of(column)] = values[:, part.inputs_of(column)]
        return rows

    def with_ranges(self, lows: FloatArray, highs: FloatArray) -> Encoding:
        """Return the encoding with the lowest and highest number of each input."""
        codes = tuple(
            replace(code, range=(float(lows[i]), float(highs[i])))
            # An input without values has its limits the wrong way round, and gets no range.
            if code.kind == "number" and lows[i] <= highs[i]
            else code
            for code, i in zip(self.codes, self.starts, strict=False)
        )
        return replace(self, codes=codes)

    def without_ranges(self) -> Encoding:
        """Return what inputs depend on: the encoding without the ranges of its columns."""
        return replace(self, codes=tuple(replace(code, range=None) for code in self.codes))

    def warnings(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        """Say which values of a row, by column, are unlike those of the training rows."""
        warnings = []
        for name, value in values.items():
            code = self.code_of[name]
            if self._was_never_missing(code) and is_missing(value):
                warnings.append(f"{name} is missing; in training it never was.")
            elif warning := code.warning(value):
                warnings.append(warning)
        return tuple(warnings)

    def _was_never_missing(self, code: ColumnCode) -> bool:
        """Tell whether missing values of a column are imputed, and no training row had one."""
        return self.gaps == "impute" and not code.marks_missing

    def unlike_in_words(self, columns: Sequence[str]) -> list[str]:
        """Return the short warning of each column of `unlike`."""
        codes = [self.code_of[column] for column in columns]
        in_words = [code.short_warning for code in codes]
        return in_words + [f"{code.name} missing, never so in training" for code in codes]

    def unlike(self, rows: FloatArray, columns: Sequence[str]) -> BoolArray:
        """Mark the values of encoded rows that `warnings` would name, (n_rows, 2 * n_columns).

        The first half marks values that are there, the second half those that are missing.
        """
        marks = np.zeros((len(rows), 2 * len(columns)), dtype=np.bool_, order="F")
        for i, column in enumerate(columns):
            code, start = self.code_of[column], self.inputs_of(column).start
            values = rows[:, start]
            if self._was_never_missing(code):
                marks[:, len(columns) + i] = np.isnan(values)
            if code.kind == "category":
                marks[:, i] = (rows[:, start : start + code.n_values] == 0).all(axis=1)
            else:
                low, high = code.limits
                marks[:, i] = (values < low) | (values > high)
        return marks

    def row(self, values: Mapping[str, Any], features: Iterable[str]) -> list[float]:
        """Return the inputs of the named features for a single row, in the order of `places`.

        `values` must have exactly the columns that `needs` lists for these features.
        """
        if not isinstance(values, Mapping):
            raise DataError(f"values must be a mapping of names to values, got {brief(values)}.")
        may_miss = self.gaps != "refuse"
        inputs: list[float] = []
        n_needed = 0
        for feature in features:
            for name, code, is_bare in self._asked[feature]:
                if name not in values:
                    listed = ", ".join(map(repr, values)) or "nothing"
                    raise DataError(f"values must have {name!r}, got {listed}.")
                value = values[name]
                if is_bare and type(value) is float and -LARGEST <= value <= LARGEST:
                    inputs.append(value)  # a shortcut for the usual case: one row at a time is slow
                else:
                    inputs += code.one(value, may_miss)
                n_needed += 1
        # Counting is enough in the usual case; names are compared only for the message.
        if len(values) > n_needed:
            needed = [column for feature in features for column in self.needs(feature)]
            extra = next(name for name in values if name not in needed)
            listed = ", ".join(map(repr, needed))
            raise DataError(f"values must hold only {listed} now, got {extra!r} too.")
        return inputs

    def needs(self, feature: str) -> tuple[str, ...]:
        """Return the columns to ask for when a feature is bought."""
        return tuple(self.columns[i] for i in self._members[feature])

    def places(self, features: Iterable[str]) -> list[int]:
        """Return the positions of the inputs of the named features, feature by feature."""
        return [
            place
            for feature in features
            for i in self._members[feature]
            for place in range(self.starts[i], self.starts[i + 1])
        ]

    def inputs_of(self, column: str) -> slice:
        """Return the positions of the inputs of a column."""
        i = self.columns.index(column)
        return slice(self.starts[i], self.starts[i + 1])

    def only(self, features: Sequence[str]) -> Encoding:
        """Return the encoding of a table with only the named features, in that order.

        It makes the inputs that `places` lists.
        """
        members = [(i, f) for f, name in enumerate(features) for i in self._members[name]]
        codes = tuple(self.codes[i] for i, _ in members)
        return Encoding(codes, tuple(features), tuple(f for _, f in members), self.gaps)

    def missing_by_feature(self, rows: FloatArray) -> BoolArray:
        """Return a mask of features with a missing value, shape (n_rows, n_features)."""
        missing = np.zeros((len(rows), len(self.features)), dtype=np.bool_)
        for start, feature in zip(self.starts, self.feature_of, strict=False):
            # A missing value is NaN in all inputs of its column, so the first one tells.
            missing[:, feature] |= np.isnan(rows[:, start])
        return missing

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        columns = [
            {**code.to_dict(), "feature": self.features[feature]}
            for code, feature in zip(self.codes, self.feature_of, strict=True)
        ]
        return {"gaps": self.gaps, "features": list(self.features), "columns": columns}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Create an encoding from the fields of a file, and check them."""
        features, columns = fields.texts("features"), fields.many_fields("columns")
        if (gaps := fields.text("gaps")) not in GAPS:
            fields.refuse("gaps", f"one of {', '.join(GAPS)}", gaps)
        codes = tuple(map(ColumnCode.from_dict, columns))
        if gaps != "impute" and any(code.marks_missing for code in codes):
            fields.refuse("gaps", "'impute' if a column marks missing values", gaps)
        names, bought = [code.name for code in codes], [one.text("feature") for one in columns]
        # Two columns of one name could not be told apart in a table.
        if len(set(names)) < len(names) or set(bought) != set(features):
            fields.refuse("columns", f"columns of all features {features}, each once", names)
        return cls(codes, tuple(features), tuple(map(features.index, bought)), gaps)

    @cached_property
    def code_of(self) -> dict[str, ColumnCode]:
        """Code of each column, by name."""
        return {code.name: code for code in self.codes}

    @cached_property
    def _members(self) -> dict[str, tuple[int, ...]]:
        """Positions of the columns of each feature."""
        members: list[list[int]] = [[] for _ in self.features]
        for i, feature in enumerate(self.feature_of):
            members[feature].append(i)
        return dict(zip(self.features, map(tuple, members), strict=True))

    @cached_property
    def _asked(self) -> dict[str, tuple[tuple[str, ColumnCode, bool], ...]]:
        """Name and code of each feature's columns, and whether the column is a bare number."""
        return {
            name: tuple(
                (code.name, code, code.kind == "number" and code.n_inputs == 1)
                for code in (self.codes[i] for i in members)
            )
            for name, members in self._members.items()
        }


def _check_truth(values: FloatArray, name: str, what: str, first_row: int) -> None:
    """Refuse numbers other than 0, 1 and NaN in a column of truth values."""
    wrong = ~((values == 0) | (values == 1) | np.isnan(values))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise DataError(
            f"{what} must hold true or false in column {name!r}, got {values[row]:g} in row "
            f"{first_row + row}.",
            row=first_row + row,
        )
