"""The front as a web page: one file, without any network."""

from emsco.explorer.page import check_vega, page_of
from emsco.explorer.records import Explored, ExploredDesign

__all__ = ["Explored", "ExploredDesign", "check_vega", "page_of"]
