"""Calls that cost money: reserved before they are made, stored when they are answered, in the ledger once."""
