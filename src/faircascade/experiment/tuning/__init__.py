"""Searching the parameters of a policy, under bounds."""
