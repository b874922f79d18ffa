"""Sweeps: an experiment at every point of a grid of settings, on one machine or many."""
