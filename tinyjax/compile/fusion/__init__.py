"""Which equations share a kernel."""
