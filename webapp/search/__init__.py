"""Write and read the index of passages: words and vectors."""
