"""Claims jobs and brings each attempt to exactly one outcome."""
