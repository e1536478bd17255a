"""Tables in memory: columns, encoding, labels, weights, splits and data issues."""
