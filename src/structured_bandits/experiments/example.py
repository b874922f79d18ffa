"""The example that `structured-bandits init` writes."""

from __future__ import annotations

from structured_bandits.policies.base import POLICIES

EXPERIMENT = """\
# An experiment: run it with  structured-bandits compare experiment.toml
title = "Three types of customers, three offers"
caption = "Which policy finds the right offer soonest?"

# What is known: a CSV table of models × arms, or a TOML file with the pieces of curves.
structure = "models.csv"
# The true model, by name (for curves: the parameter), or a list of means.
truth = "families"
# rewards = "bernoulli" (0 or 1), "bounded" (anything between, with a spread, say spread = 0.25), or
# "gaussian" (with a sigma, say sigma = 0.5). If they lie in another range, tell the structure so:
# structure = {file = "models.csv", reward_range = [0, 10]}
rewards = "bernoulli"
horizon = 10_000
runs = 100

# One table for each policy; its `kind`, by default the table's name, is one of
# KINDS.
# A policy of your own, the class Mine in the file mine.py beside this one, has a table such as
#   [policies.Mine]
#   policy = "mine:Mine"
#   patience = 3              # its parameters; structure, n_arms and horizon it gets if it asks for them
# and is played by  structured-bandits compare experiment.toml --allow-code  (docs/add-a-policy.md).
# SUCB, SAE and ASAE: these are the confidence sets of sb.SUCB(structure); a table that names none gets
# those of the paper, alpha = 2.0 and confidence = "hoeffding".
[policies.UCB]
alpha = 2.0

[policies.SUCB]
alpha = 0.5
confidence = "kl"

[policies.SAE]
alpha = 0.5
confidence = "kl"

[policies."ASAE, slow periods"]
kind = "ASAE"
alpha = 0.5
confidence = "kl"
eta = 0.1
reading = "theory"
""".replace("KINDS", ", ".join(POLICIES))

MODELS = """\
model,discount,gift,free delivery
students,0.60,0.35,0.30
families,0.40,0.30,0.55
collectors,0.40,0.65,0.20
"""

FILES = {"experiment.toml": EXPERIMENT, "models.csv": MODELS}
