"""Encoding of a table's columns as inputs of models, with missing values as NaN."""

from emsco.data.encoding.answers import answer_rows
from emsco.data.encoding.column_code import MOST_CATEGORIES, ColumnCode
from emsco.data.encoding.encoding import GAPS, Encoding

__all__ = ["GAPS", "MOST_CATEGORIES", "ColumnCode", "Encoding", "answer_rows"]
