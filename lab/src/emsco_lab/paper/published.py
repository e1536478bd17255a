"""Numbers that the paper prints: its comparison and its settings."""

from __future__ import annotations

from typing import Any

SETS = ("pima", "credit", "heart", "synthetic50", "synthetic15")
SMALL = ("heart", "credit", "pima")  # sets whose designs can all be scored

# Designs on the fronts of the small sets with at most 2, 3 and 4 stages.
FRONTS = {"heart": (24, 28, 33), "credit": (47, 141, 171), "pima": (18, 42, 65)}

# Parameters of the paper's search, as the authors chose them for each set.
SETTINGS: dict[str, dict[str, Any]] = {
    "heart": {"mutation_rate": 0.075, "crossover_rate": 0.75, "stage_bias": 2.0},
    "credit": {"mutation_rate": 0.075, "crossover_rate": 0.80, "stage_bias": 2.5},
    "pima": {"mutation_rate": 0.075, "crossover_rate": 0.80, "stage_bias": 2.0},
    "synthetic15": {
        "mutation_rate": 0.075,
        "crossover_rate": 0.80,
        "stage_bias": 2.0,
        "population_size": 250,
    },
    "synthetic50": {"mutation_rate": 0.05, "crossover_rate": 0.80, "stage_bias": 2.5},
}

# Accuracy and coverage as shares, and cost, by set and method.
TABLE: dict[str, dict[str, tuple[float, float, float]]] = {
    "pima": {
        "emsco": (0.711, 0.99, 242.4),
        "greedy_miser": (0.681, 1.0, 500.0),
        "cstc": (0.673, 1.0, 624.0),
        "cact_lasso": (0.82, 0.834, 1100.0),
        "cost_ordered": (0.72, 0.97, 524.0),
    },
    "credit": {
        "emsco": (0.831, 0.961, 365.89),
        "greedy_miser": (0.764, 1.0, 107.0),
        "cstc": (0.781, 1.0, 522.0),
        "cact_lasso": (0.891, 0.801, 1420.0),
        "cost_ordered": (0.813, 0.932, 695.8),
    },
    "heart": {
        "emsco": (0.834, 0.893, 102.4),
        "greedy_miser": (0.792, 1.0, 38.6),
        "cstc": (0.811, 1.0, 560.0),
        "cact_lasso": (0.88, 0.65, 120.0),
        "cost_ordered": (0.871, 0.72, 255.3),
    },
    "synthetic50": {
        "emsco": (0.664, 1.0, 16.47),
        "greedy_miser": (0.65, 1.0, 76.5),
        "cstc": (0.643, 1.0, 72.2),
        "cact_lasso": (0.826, 0.927, 70.0),
        "cost_ordered": (0.776, 0.975, 500.0),
    },
    "synthetic15": {
        "emsco": (0.90, 0.66, 56.57),
        "greedy_miser": (0.812, 1.0, 75.7),
        "cstc": (0.853, 1.0, 61.3),
        "cact_lasso": (0.924, 0.523, 60.0),
        "cost_ordered": (0.912, 0.585, 79.7),
    },
}

# 95 % margins of error of EMSCO over 50 repeats: accuracy, coverage, cost.
MARGINS: dict[str, tuple[float, float, float]] = {
    "pima": (0.005, 0.003, 8.2),
    "credit": (0.007, 0.001, 17.7),
    "heart": (0.004, 0.012, 5.1),
    "synthetic50": (0.006, 0.001, 4.3),
    "synthetic15": (0.001, 0.001, 2.4),
}
