"""A library for AI assistants: tools of the Model Context Protocol, served over HTTP at /mcp and by `docmill mcp`."""
