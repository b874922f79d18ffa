"""Advice: which policy to take on a structure, found out by playing all that can."""
