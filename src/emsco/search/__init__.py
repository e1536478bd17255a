"""Searches over designs. They propose designs and receive scores, and never see data."""
