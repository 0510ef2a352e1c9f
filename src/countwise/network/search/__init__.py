"""Structure search: orderings, hill climbing, trees, and structures of classifiers."""
