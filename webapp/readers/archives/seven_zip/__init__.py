"""7z archives: their directory, what packed their files, the files themselves."""
