"""Dispatch: which due job a worker gets next, and what wakes the worker. The lease is the database's in any case."""
