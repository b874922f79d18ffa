"""Unions of polytopes of models."""
