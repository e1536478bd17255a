"""Run folders: fit into one, then decide, evaluate, plot and explore with it."""
