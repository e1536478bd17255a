"""The explorer: a front as a web page, in one file that needs no network."""

from emsco.app.explorer.page import check_vega, front_page, page_of

__all__ = ["check_vega", "front_page", "page_of"]
