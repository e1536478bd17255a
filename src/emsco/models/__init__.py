"""Stage models: one per subset of the features, fitted in batches and kept as bits."""
