"""The command `docmill`: uploads, reads and searches over HTTP, from any machine. It uses the API like any program."""
