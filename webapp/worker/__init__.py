"""The worker process: claims jobs, makes attempts, and takes back the jobs of dead workers."""
