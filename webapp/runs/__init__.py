"""Runs: how they are queued, retried and ended, the table of stages, and what is deleted after a time."""
