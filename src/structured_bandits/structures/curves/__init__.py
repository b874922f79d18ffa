"""Models on a line, with means that are linear in pieces."""
