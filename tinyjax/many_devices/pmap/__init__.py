"""pmap: one program on several devices."""
