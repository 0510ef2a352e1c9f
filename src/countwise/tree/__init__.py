"""Decision trees: growing, pruning, asking, drawing them, and their rules."""
