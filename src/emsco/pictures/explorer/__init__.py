"""The front as a web page: one file, without any network."""

from emsco.pictures.explorer.page import check_vega, page_of
from emsco.pictures.explorer.records import Explored, ExploredDesign

__all__ = ["Explored", "ExploredDesign", "check_vega", "page_of"]
