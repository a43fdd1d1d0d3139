"""The device of a browser: kernels as WebAssembly."""
