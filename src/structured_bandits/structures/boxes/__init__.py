"""Boxes of models: the rows of a table, known up to margins."""
