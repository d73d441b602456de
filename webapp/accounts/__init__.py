"""Orgs, users, API tokens and roles."""
