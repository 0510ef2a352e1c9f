"""What models share: scikit-learn's protocol, fitting by tallies or rows, sums of terms, workings."""
