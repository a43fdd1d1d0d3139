"""From a jaxpr to kernels, and to the schedule that runs them."""
