"""Run folders, and what is done with one: fit, decide, evaluate, plot, explore."""
