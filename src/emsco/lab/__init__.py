"""What we prove with: rivals, data sets, comparisons, sweeps and the tables of the paper."""
