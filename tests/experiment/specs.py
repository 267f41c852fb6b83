"""Small experiments that tests share."""

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

TUNE = """name = "small"

[data]
name = "synthetic"
users = 20
items = 60

[environment]
k = 3
dim = 4

[run]
rounds = 30
seeds = 2
checkpoints = 3

[[policies]]
name = "linucb"
alpha = 0.25

[[policies]]
name = "ealinucb"
weight = "log"

[tune]
policy = "ealinucb"
maximize = "equality_p"
subject_to = "clicks >= -3%"
trials = 6
seeds = [101, 102]

[tune.search]
gamma = {low = 1e-4, high = 0.1, log = true}
alpha = {low = 0.05, high = 1.0}
weight = {choices = ["log", "rbp"]}
beta = {low = 0.1, high = 0.9, step = 0.1}
"""
