"""Models, one a file; `estimators` gives them scikit-learn's face."""
