"""A small experiment that tests share."""

from __future__ import annotations

TINY = """
name = "tiny"
title = "A small experiment"

[data]
name = "synthetic"
users = 20
items = 60

[environment]
dim = 4
k.grid = [3, 5]

[run]
rounds = 30
seeds = 2
checkpoints = 6

[every_policy]
reading = "paper"
gamma = 0.01

[[policies]]
name = "linucb"
alpha.grid = [0.25, 1.0]

[[policies]]
name = "ealinucb"
weight.grid = ["log", "linear", [1, 2, 3, 4, 5]]

[[policies]]
name = "random"
rounds = 10
"""
