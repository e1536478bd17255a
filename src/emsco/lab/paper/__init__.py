"""The experiments of the paper: one module for each table or figure."""
