"""Signing in at Azure without a secret: the identity that Azure gives to the machine itself."""

from azure.identity import DefaultAzureCredential


def managed_identity() -> DefaultAzureCredential:
    """Give the credential; it asks for tokens when they are first needed. It never opens a browser."""
    return DefaultAzureCredential(exclude_interactive_browser_credential=True, retry_total=0)
