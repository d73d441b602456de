"""The queue: jobs that workers claim, their leases, and what ops say of stages."""
