"""Attacks on files: valid ones of every kind, damaged at random, then read and used."""
