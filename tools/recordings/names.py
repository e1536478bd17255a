"""Names that may change between versions, and values that comparisons ignore.

A recording keeps the names of its time. `compare` reads both sides through these names, so an old
recording stays valid: add a line when you rename a field.
"""

from __future__ import annotations

from typing import Any

__all__ = ["ALIASES", "IGNORED", "WORDING", "named"]

# Earlier name → name today, for attributes, JSON keys and CSV columns.
ALIASES = {
    "oddities": "data_issues",
    "oddities_": "data_issues_",
    "finish_": "refinement_",
    "hits": "correct_exits",
    "correct": "correct_exits",
    "right": "accuracy",
    "largest_gap": "largest_error",
    "validation": "scored",
    "held_out": "scored",
    "test": "seen",
    "tests": "seen",
    "runs": "repeats",
    "n_runs": "n_repeats",
    "run": "repeat",
    "margin_over_runs": "margin_over_repeats",
    "spread_of_settings_and_runs": "spread_of_settings_and_repeats",
    "vectors_of_worst_run": "vectors_of_worst_repeat",
    "vectors_of_best_run": "vectors_of_best_repeat",
    "largest_gap_in_standard_errors": "largest_difference_in_standard_errors",
}

# Times, which differ from one recording to the next.
IGNORED = {"seconds", "seconds_by_method"}

# Sentences for people: a change is worth a note, but it changes no result.
WORDING = {
    "known",
    "message",
    "note",
    "notes",
    "reason",
    "reasons",
    "stop_reason",
    "summary",
    "warnings",
}


def named(value: Any, name: str) -> Any:
    """Get an attribute by this name, or by its earlier or present name."""
    today = ALIASES.get(name, name)
    every = [name, today, *(old for old, new in ALIASES.items() if new == today)]
    for one in every:
        if hasattr(value, one):
            return getattr(value, one)
    raise AttributeError(f"{type(value).__name__} has none of {', '.join(dict.fromkeys(every))}")
