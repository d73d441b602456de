"""The stages and steps of processing a document, from the uploaded file to published passages."""
