"""What every other package stands on: types, arrays, checks, text, documents, progress."""
