"""Studies on your own data: sweeps over thresholds, comparisons of methods."""
