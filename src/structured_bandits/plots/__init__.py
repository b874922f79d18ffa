"""Figures: from a result to data, from data to axes."""
