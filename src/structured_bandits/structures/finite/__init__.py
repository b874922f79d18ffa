"""Finitely many models: a table of means."""
