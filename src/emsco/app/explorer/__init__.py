"""The explorer: a front as a web page, in one file that needs no network."""

from emsco.app.explorer.page import check_vega, page_of
from emsco.app.explorer.records import CertifiedDesigns, Explored, ExploredDesign

__all__ = ["CertifiedDesigns", "Explored", "ExploredDesign", "check_vega", "page_of"]
