"""What commands do, without a terminal: files and runs in, results out. A module for each."""
