"""Has a chat model fill in a form: it has no tools, and its answer must fit a strict JSON schema."""

import json
from typing import Any

import openai

from webapp.providers.openai.client import OpenAIRole, unusable


class FormFiller(OpenAIRole):
    """A provider that asks a chat model to fill in one form."""

    rules = 1
    """Part of the version: counted up when the same material would give another result."""
    form_name: str
    orders: str
    """What the model is told to do with the material."""

    def __init__(self, client: openai.OpenAI, model: str) -> None:
        super().__init__(client)
        self.version = f"{self.rules}+{model}"
        self._model = model

    def _fill(self, schema: dict[str, Any], material: str, timeout_seconds: float) -> Any:
        """The filled form, as a JSON parser reads it; an answer that can't be used may be better next time."""
        form: Any = {"type": "json_schema", "json_schema": {"name": self.form_name, "strict": True, "schema": schema}}
        try:
            with self._translated("chat"):
                answer = self._client.chat.completions.create(
                    model=self._model,
                    messages=[{"role": "system", "content": self.orders}, {"role": "user", "content": material}],
                    response_format=form,
                    timeout=timeout_seconds,
                )
        except ValueError as error:
            raise unusable("chat: the answer could not be read") from error
        # Servers that only resemble OpenAI leave out what the client's types promise.
        choice: Any = next(iter(answer.choices or []), None)
        if choice is None or choice.finish_reason not in {"stop", None} or not choice.message.content:
            raise unusable("chat: the answer is not complete")
        try:
            return json.loads(str(choice.message.content))
        except (ValueError, RecursionError) as error:
            raise unfit() from error


def unfit() -> Exception:
    """What an answer is that does not fit its form: an error that may pass."""
    return unusable("chat: the answer does not fit the form")
