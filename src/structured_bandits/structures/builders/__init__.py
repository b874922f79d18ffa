"""Structures from what is known, and from other structures."""
