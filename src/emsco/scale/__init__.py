"""The same sums over rows, elsewhere: on a GPU, on a Dask cluster, or from disk."""
