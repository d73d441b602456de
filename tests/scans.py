# ruff: noqa: E501, RUF001 - letters of other alphabets are the point here, and texts are easier to read whole
"""Generated scans and photographs of pages: what is written on them is known, so that every wrong letter counts."""

import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from tests.local_providers import ROOT
from webapp.providers.local.ocr import PAGE_SECONDS, LocalOcr, OcrOptions
from webapp.providers.models import ocr
from webapp.providers.models.wheel import BuildError

FONTS = (
    "/usr/share/fonts/truetype/noto/NotoSans-Regular.ttf",
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
)
DPI, MARGIN = 150, 110
A4 = (1240, 1754)
PAPER, INK, DESK = 255, 15, (95, 75, 60)

TEXTS: dict[str, tuple[str, ...]] = {
    "en": (
        (
            "The harbour opens at seven o'clock. Ships that arrive before that time wait outside the breakwater, where the "
            "water is deep enough for vessels of up to 9,500 tons. A pilot comes aboard when the wind is stronger than force 6."
        ),
        (
            "Dues are paid once for each visit: 45.80 for the first day and 12.35 for every further one. Boats of members "
            "(see page 14) pay nothing between October and March. Questions? Write to office@harbour.example or call "
            "+44 1632 960 018 on weekdays."
        ),
        (
            "Whoever leaves goods on the quay for more than 48 hours is asked to move them. What is left after a week will "
            "be stored in hall B-7, at a cost of 3 % of its value a month, and sold after a year."
        ),
    ),
    "de": (
        (
            "Der Hafen öffnet um sieben Uhr. Schiffe, die früher ankommen, warten außerhalb der Mole, wo das Wasser für "
            "größere Fahrzeuge tief genug ist. Ein Lotse kommt an Bord, wenn der Wind stärker als sechs ist."
        ),
        (
            "Gebühren werden für jeden Besuch einmal gezahlt: 45,80 Euro für den ersten Tag und 12,35 Euro für jeden "
            "weiteren. Boote von Mitgliedern (siehe Seite 14) zahlen zwischen Oktober und März nichts. Fragen? Schreiben "
            "Sie uns, oder rufen Sie werktags an."
        ),
        (
            "Wer Güter länger als 48 Stunden auf dem Kai lässt, wird gebeten, sie wegzuräumen. Übrig Gebliebenes wird in "
            "Halle B-7 aufbewahrt; das kostet monatlich 3 % des Wertes."
        ),
    ),
    "pt": (
        (
            "O porto abre às sete horas. Os navios que chegam mais cedo esperam fora do quebra-mar, onde a água é "
            "suficientemente funda para embarcações maiores. O piloto sobe a bordo quando o vento é forte."
        ),
        (
            "As taxas são pagas uma vez por visita: 45,80 euros no primeiro dia e 12,35 euros em cada um dos seguintes. "
            "Os barcos dos sócios (ver página 14) não pagam nada entre outubro e março. Dúvidas? Escreva-nos, ou ligue "
            "nos dias úteis."
        ),
        (
            "Quem deixar mercadorias no cais por mais de 48 horas deverá retirá-las. O que sobrar após uma semana será "
            "guardado no armazém B-7, ao custo de 3 % do seu valor por mês."
        ),
    ),
    "ru": (
        (
            "Гавань открывается в семь часов утра. Суда, которые приходят раньше, ждут снаружи за молом, где вода "
            "достаточно глубока для больших кораблей. Лоцман поднимается на борт, когда ветер становится сильнее."
        ),
        (
            "Сбор платят один раз за каждое посещение: 45,80 рубля за первый день и 12,35 рубля за каждый следующий. Лодки "
            "членов общества (смотрите страницу 14) не платят ничего между октябрём и мартом. Вопросы задавайте письменно."
        ),
        (
            "Тех, кто оставляет товары на набережной дольше 48 часов, просят убрать их. Оставшееся через неделю будет "
            "храниться на складе; это стоит 3 % цены в месяц, а через год всё продадут."
        ),
    ),
}
TEXTS["ru+en"] = (TEXTS["ru"][0], TEXTS["en"][0], TEXTS["ru"][1], TEXTS["en"][2])


def font(size: int) -> ImageFont.FreeTypeFont:
    """A font with Latin and Cyrillic letters, which CI installs."""
    path = next((path for path in FONTS if Path(path).exists()), None)
    if path is None:
        _missing("a font with Cyrillic letters, such as Debian's fonts-noto-core")
    return ImageFont.truetype(path, size)


def reader(languages: Sequence[str] = ("ru",), page_seconds: float = PAGE_SECONDS) -> LocalOcr:
    """OCR with the models of the tests."""
    folder = Path(os.environ.get("MODELS_DIR") or ROOT / ".cache" / "models")
    ocr.ensure(folder)
    if "ru" in languages:
        try:
            ocr.ensure_language(folder, "rus")
        except BuildError as error:
            _missing(str(error))
    return LocalOcr(OcrOptions(folder, tuple(languages), page_seconds=page_seconds))


def _missing(what: str) -> NoReturn:
    if os.environ.get("REQUIRE_BROWSER"):
        pytest.fail(f"missing: {what}")
    pytest.skip(f"missing: {what}")


def lines_of(paragraphs: Sequence[str], size: int = 23, width: int = A4[0] - 2 * MARGIN) -> list[list[str]]:
    """Each paragraph cut into lines that fit."""
    face, found = font(size), []
    for paragraph in paragraphs:
        lines = [""]
        for word in paragraph.split():
            longer = f"{lines[-1]} {word}".strip()
            if face.getlength(longer) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
        found.append(lines)
    return found


def page(paragraphs: Sequence[str], size: int = 23, paper: tuple[int, int] = A4) -> Image.Image:
    """A clean page, in grey, at 150 dots an inch."""
    picture = Image.new("L", paper, PAPER)
    draw, y = ImageDraw.Draw(picture), MARGIN
    for lines in lines_of(paragraphs, size, paper[0] - 2 * MARGIN):
        for line in lines:
            draw.text((MARGIN, y), line, font=font(size), fill=INK)
            y += round(size * 1.4)
        y += size
    return picture


def noisy(picture: Image.Image, angle: float = 0.9, seed: int = 1) -> Image.Image:
    """As a poor scanner gives it: turned, blurred, grainy, and packed hard."""
    turned = picture.rotate(angle, fillcolor=PAPER, resample=Image.Resampling.BICUBIC)
    grain = np.random.default_rng(seed).normal(0, 9, turned.size[::-1])
    pixels = np.asarray(turned.filter(ImageFilter.GaussianBlur(0.6))) * 0.92 + 8 + grain
    return _packed(Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)), 60)


def photographed(picture: Image.Image, seed: int = 1) -> Image.Image:
    """As a phone takes it: in perspective, on a desk, half in the shade."""
    random, (width, height) = np.random.default_rng(seed), picture.size
    wide, high = round(width * 1.12), round(height * 1.08)
    corners = [(0.06, 0.04), (0.94, 0.03), (0.91, 0.97), (0.08, 0.95)]
    seen = [(wide * x + random.uniform(0, 12), high * y + random.uniform(0, 12)) for x, y in corners]
    how = _perspective(seen, [(0, 0), (width, 0), (width, height), (0, height)])
    flat = picture.convert("RGB").transform(
        (wide, high), Image.Transform.PERSPECTIVE, how, Image.Resampling.BICUBIC, fillcolor=DESK
    )
    y, x = np.mgrid[0:high, 0:wide]
    across = x / wide * 0.7 + y / high * 0.3
    light = (1 - 0.45 * across) * np.where(across > 0.5, 0.8, 1.0)
    pixels = np.asarray(flat) * light[..., None] + random.normal(0, 6, (high, wide, 3))
    return _packed(Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)), 75)


def as_bytes(picture: Image.Image, kind: str = "PNG", more: Sequence[Image.Image] = (), **options: Any) -> bytes:
    """A picture as a file; several pages where the kind has them. For "PDF": a scan without text."""
    buffer = io.BytesIO()
    if more:
        options |= {"save_all": True, "append_images": list(more)}
    if kind == "PDF":
        options = {"resolution": DPI} | options
    picture.save(buffer, kind, **options)
    return buffer.getvalue()


def wrong_share(truth: str, found: str) -> float:
    """How many letters of a text have to be changed, as a share of its length; quotes, dashes and spaces are alike."""
    a, b = _letters(truth), _letters(found)
    before = np.arange(len(b) + 1)
    places = np.arange(len(b) + 1)
    for index, letter in enumerate(a, start=1):
        here = np.concatenate([[index], np.minimum(before[:-1] + (b != letter), before[1:] + 1)])
        before = np.minimum.accumulate(here - places) + places
    return float(before[-1]) / len(a)


def _letters(text: str) -> Any:
    alike = re.sub("[\u2018\u2019`\u00b4]", "'", re.sub("[\u2010-\u2015\u2212]", "-", text))
    joined = " ".join(re.sub("[\u201c-\u201f\u00ab\u00bb]", '"', alike).split())
    return np.frombuffer(joined.encode("utf-32-le"), np.uint32)


def _packed(picture: Image.Image, quality: int) -> Image.Image:
    buffer = io.BytesIO()
    picture.save(buffer, "JPEG", quality=quality)
    packed = Image.open(buffer)
    packed.load()
    return packed


def _perspective(seen: Sequence[tuple[float, float]], flat: Sequence[tuple[float, float]]) -> Any:
    rows = []
    for (x, y), (u, v) in zip(seen, flat, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    return tuple(np.linalg.solve(np.array(rows, float), np.array(flat, float).reshape(8)))
