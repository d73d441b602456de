"""The HTTP room: pages for people, JSON for programs, and who may see what."""
