"""How OpenAI is reached, or another server that speaks its protocol, and which of its models are used."""

from dataclasses import dataclass, field

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError

_ADDRESS = "https://api.openai.com/v1"
# The native lengths of the models that everybody knows; others have to be told.
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


@dataclass(frozen=True)
class OpenAISettings(Group):
    """How OpenAI is reached, or another server that speaks its protocol, and which of its models are used."""

    prefix = "openai_"

    api_key: str = field(repr=False)
    base_url: str
    embedding_model: str
    embedding_dimensions: int
    embedding_batch: int
    transcribe_model: str
    chat_model: str


def read(env: Reader, *, embeds: bool) -> OpenAISettings:
    """Read and check this group; where it embeds, the length of its vectors must be known."""
    model = env.text("OPENAI_EMBEDDING_MODEL", "text-embedding-3-small")
    return OpenAISettings(
        api_key=env.text("OPENAI_API_KEY"),
        base_url=env.address("OPENAI_BASE_URL") or _ADDRESS,
        embedding_model=model,
        embedding_dimensions=_dimensions(env, model, embeds=embeds),
        embedding_batch=env.whole("OPENAI_EMBEDDING_BATCH", 16, most=2048),
        transcribe_model=env.text("OPENAI_TRANSCRIBE_MODEL", "whisper-1"),
        chat_model=env.text("OPENAI_CHAT_MODEL", "gpt-4.1-mini"),
    )


def _dimensions(env: Reader, model: str, *, embeds: bool) -> int:
    given = env.whole("OPENAI_EMBEDDING_DIMENSIONS", 0, least=0, most=16_000)
    if embeds and not given and model not in _DIMENSIONS:
        raise SettingsError(
            f"OPENAI_EMBEDDING_DIMENSIONS is needed: OPENAI_EMBEDDING_MODEL={model} gives vectors of an unknown length."
        )
    return given or _DIMENSIONS.get(model, 0)
