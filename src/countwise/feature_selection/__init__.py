"""Which attributes matter: filters over measures, wrappers over cached terms, and what a fitted model says."""
