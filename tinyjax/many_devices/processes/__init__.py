"""Programs whose arrays are spread over several processes: what each of them computes."""
