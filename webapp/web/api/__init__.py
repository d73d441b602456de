"""What programs are told of the HTTP API: /openapi.json for them, and /api for the people who write them."""
