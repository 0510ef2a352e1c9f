"""How good a learner is: answers scored, folds, curves and comparisons."""
