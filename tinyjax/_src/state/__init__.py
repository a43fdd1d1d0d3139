"""Types of Refs, where Flax looks for them."""
