"""Figures over time: incidents, and how many jobs ended in each minute, hour and day."""
