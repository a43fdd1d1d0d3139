"""What one OpenCL driver needs."""
