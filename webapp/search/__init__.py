"""The index of passages: words and vectors, connections, shared values."""
