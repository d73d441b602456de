"""The job queue: jobs, their leases, the claim, and the pauses and limits of stages."""
