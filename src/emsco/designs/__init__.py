"""Designs: ordered partitions of the features into stages, their space and their constraints."""
