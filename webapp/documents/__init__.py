"""Documents, runs and their events: what is known, and the rules that guard it."""
