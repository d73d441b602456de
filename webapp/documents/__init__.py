"""The tables of documents and runs, their states, the timeline, and where blobs are stored."""
