"""Programs whose arrays are spread over several processes: each process's computation."""
