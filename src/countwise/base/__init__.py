"""Base classes of all learners: the scikit-learn protocol, fitting from tallies or rows, prediction, workings."""
