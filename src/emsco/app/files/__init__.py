"""Tables in files: CSV and Parquet, read, checked, profiled and written."""
