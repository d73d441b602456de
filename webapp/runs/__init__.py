"""A run's life: queued, started, retried, ended; what is forgotten of it."""
