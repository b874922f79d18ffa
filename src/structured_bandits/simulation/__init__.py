"""Simulation: one loop, plain or compiled, and what comes out of it."""
