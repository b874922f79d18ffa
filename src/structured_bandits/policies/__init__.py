"""Policies: one file each, a named tuple of parameters with `init`, `choose` and `update`.

Those whose own definition is a phase of several arms have `plan` and `observe` instead.
"""
