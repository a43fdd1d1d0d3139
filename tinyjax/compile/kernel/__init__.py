"""The language of kernels: what it says, its proofs, its interpreter."""
