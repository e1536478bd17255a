"""Searches over designs: ask() for designs, tell() their scores; they never see data."""
