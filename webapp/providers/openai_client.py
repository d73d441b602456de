"""The client for OpenAI and servers that speak its protocol, as all roles use it."""

import openai


def connect(base_url: str, api_key: str, timeout_seconds: float) -> openai.OpenAI:
    """Make the client; it connects when it is first used. A server without keys is sent a word in its place."""
    return openai.OpenAI(
        base_url=base_url,
        api_key=api_key or "none",
        # Said here, so that the client does not look into the environment for them.
        organization="",
        project="",
        # The queue retries, and nobody else.
        max_retries=0,
        timeout=timeout_seconds,
    )
