"""Is the structure wrong? An e-value that may be looked at after every pull."""
