"""Experiments: settings and what is read off them."""
