"""Several processes: how they find each other, synchronize, and end together."""
