"""Policies: one file each, one shape: parameters, `init`, `plan`, `observe`."""
