"""What people do with documents: add, list, find by name, reprocess, look at, delete."""
