"""What people touch: the command line, run folders, the explorer page and the service."""
