"""Plots, web pages and notebook views; each is a plain record and a function that draws it."""
