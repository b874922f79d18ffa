"""A version of an experiment as a function of the rows of its log: no HTTP, no SQL."""
