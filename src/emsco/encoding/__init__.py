"""From the columns of a user's table to the inputs of classifiers, and from gaps to NaN."""

from emsco.encoding.answers import answer_rows
from emsco.encoding.codes import MOST_CATEGORIES, ColumnCode
from emsco.encoding.core import GAPS, Encoding

__all__ = ["GAPS", "MOST_CATEGORIES", "ColumnCode", "Encoding", "answer_rows"]
