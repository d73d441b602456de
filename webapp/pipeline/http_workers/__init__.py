"""Programs that work off a stage over HTTP: what they may read and write, and what becomes of it."""
