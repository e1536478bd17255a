"""A package of its own now: ``emsco_lab``."""

raise ImportError("emsco.lab is now the package emsco_lab: pip install emsco-lab")
