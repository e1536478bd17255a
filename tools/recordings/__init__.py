"""Recordings: the results of seeded fits as plain values, to compare one version with another."""
