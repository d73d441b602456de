"""Dispatch by BullMQ on Redis, in front of the database. The only package that speaks to Redis."""
