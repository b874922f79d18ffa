"""Structures from files."""
