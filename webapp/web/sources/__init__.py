"""Pages of sources: folders and mailboxes that are polled for new documents, with their ledgers."""
