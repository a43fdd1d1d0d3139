"""Several processes: how they find each other, meet, and end together."""
