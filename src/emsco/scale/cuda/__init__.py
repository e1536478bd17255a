"""Logistic stage models on a GPU, with PyTorch: the `device` of a fit."""
