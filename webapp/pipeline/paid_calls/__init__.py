"""Calls that cost money: reserved before they leave, kept when they are answered, booked once."""
