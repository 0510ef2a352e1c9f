"""Bayesian belief networks: graphs, factors, and what can be inferred from them (004)."""
