"""Studies on a user's own data: sweeps over thresholds, comparisons of methods."""
