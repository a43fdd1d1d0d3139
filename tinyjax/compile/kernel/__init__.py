"""The language of kernels: its statements, its proofs, its interpreter."""
