"""The dashboard: pages that the server draws from the state of each experiment.

They work without script; a short one fetches what has changed.
"""
