"""Recorded speech with its words, out of Debian's packages: Russian sentences of a voice, English ones of a novel."""

import random
import re
import subprocess
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

KEPT = Path(__file__).resolve().parents[1] / ".cache" / "debian"
RATE = 16_000
PAUSE = np.zeros(int(RATE * 0.3), np.int16)
_PROMPT = re.compile(r'\( (\S+) "(.*)" \)')
_ENGLISH = re.compile(r"<s> (.*) </s> \((\S+)\)")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")


@dataclass(frozen=True)
class Spoken:
    """Sentences in one language, joined with pauses, and their words."""

    language: str
    samples: NDArray[np.int16]
    text: str


def russian(seconds: float) -> Spoken:
    """Sentences of festvox-ru (BSD-like licence), recorded by one man, of novels; chosen by chance, always the same."""
    folder = _unpacked("festvox-ru") / "usr/share/festival/voices/russian/msu_ru_nsh_clunits"
    lines = (folder / "etc/txt.done.data").read_text(encoding="utf-8").splitlines()
    prompts = [found.groups() for line in lines if (found := _PROMPT.match(line))]
    random.Random(1).shuffle(prompts)
    # A plus is before a vowel that is stressed.
    return _joined("ru", [(folder / f"wav/{name}.wav", text.replace("+", "")) for name, text in prompts], seconds)


def english(seconds: float) -> Spoken:
    """Sentences of pocketsphinx-testdata (BSD), out of a volunteer's reading of a novel."""
    folder = _unpacked("pocketsphinx-testdata") / "usr/share/pocketsphinx/test/data/librivox"
    lines = (folder / "transcription").read_text(encoding="utf-8").splitlines()
    found = [(folder / f"{name}.wav", text) for text, name in (_ENGLISH.findall(line)[0] for line in lines if line)]
    return _joined("en", found, seconds)


def wrong_words(truth: str, heard: str) -> float:
    """The share of words that are wrong, missing or too many; letters' case, stops and the dots of "ё" do not count."""
    meant, said = _words(truth), _words(heard)
    costs = list(range(len(said) + 1))
    for row, word in enumerate(meant, 1):
        before, costs[0] = costs[0], row
        for column, other in enumerate(said, 1):
            before, costs[column] = (
                costs[column],
                min(costs[column] + 1, costs[column - 1] + 1, before + (word != other)),
            )
    return costs[-1] / len(meant)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("ё", "е"))  # noqa: RUF001 - Russian letters


def _joined(language: str, sentences: list[tuple[Path, str]], seconds: float) -> Spoken:
    parts: list[NDArray[np.int16]] = []
    texts = []
    for file, text in sentences:
        if sum(map(len, parts)) >= seconds * RATE:
            break
        with wave.open(str(file)) as sound:
            parts += [np.frombuffer(sound.readframes(1 << 30), "<i2"), PAUSE]
        texts.append(text)
    return Spoken(language, np.concatenate(parts), " ".join(texts))


def _unpacked(package: str) -> Path:
    """Debian's package, fetched once and unpacked without root; nothing of it is installed."""
    folder = KEPT / package
    if not folder.is_dir():
        KEPT.mkdir(parents=True, exist_ok=True)
        subprocess.run(["apt-get", "-qq", "download", package], cwd=KEPT, check=True)
        for file in KEPT.glob(f"{package}_*.deb"):
            subprocess.run(["dpkg-deb", "-x", str(file), str(folder)], check=True)
            file.unlink()
    return folder
