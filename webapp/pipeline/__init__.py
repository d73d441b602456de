"""What happens to a document, from upload to published passages."""
