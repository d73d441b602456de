"""The language of short texts: named rightly, or not at all."""

# ruff: noqa: RUF001 - letters of other alphabets are the point here

from pathlib import Path

import pytest

from tests import local_providers
from webapp.providers.local.languages import LocalLanguages
from webapp.providers.models import languages

TEXTS = {
    "en": """
        Please pay within thirty days.
        The lamp was repaired before the storm
        Delivery note and packing list
    """,
    "de": """
        Bitte zahlen Sie innerhalb von 30 Tagen.
        Die Lampe wurde vor dem Sturm repariert
        Rechnung für Wartungsarbeiten
    """,
    "fr": """
        Merci de régler sous trente jours.
        La lampe a été réparée avant la tempête
        Facture des travaux d'entretien
    """,
    "es": """
        Rogamos el pago en treinta días.
        La lámpara fue reparada antes de la tormenta
        Factura de los trabajos de mantenimiento
    """,
    "it": """
        Si prega di pagare entro trenta giorni.
        La lampada è stata riparata prima della tempesta
        Fattura dei lavori di manutenzione
    """,
    "pt": """
        Por favor, pague em até trinta dias.
        A lâmpada foi consertada antes da tempestade
        Fatura dos serviços de manutenção
    """,
    "nl": """
        Gelieve binnen dertig dagen te betalen.
        De lamp werd voor de storm gerepareerd
        Factuur voor onderhoudswerkzaamheden
    """,
    "pl": """
        Prosimy o zapłatę w ciągu trzydziestu dni.
        Lampa została naprawiona przed burzą
        Faktura za prace konserwacyjne
    """,
    "ru": """
        Просим оплатить в течение тридцати дней.
        Лампу починили ещё до бури
        Счёт за работы по обслуживанию
    """,
    "uk": """
        Просимо сплатити протягом тридцяти днів.
        Лампу полагодили ще до бурі
        Рахунок за роботи з обслуговування
    """,
    "cs": """
        Zaplaťte prosím do třiceti dnů.
        Lampa byla opravena před bouří
        Faktura za údržbářské práce
    """,
    "sv": """
        Vänligen betala inom trettio dagar.
        Lampan lagades före stormen i natt
        Faktura för underhållsarbeten
    """,
    "ja": """
        三十日以内にお支払いください。
    """,
    "zh": """
        请在三十天之内付款。
    """,
}

ENGLISH_INVOICE = (
    "Invoice No. 17. Bill to: Acme Ltd, No. 5 Harbour Road. A Bolts 40 1.20 48.00. B Washers 80 3.10 248.00. "
    "Subtotal 296.00 VAT 59.20 Total due 355.20. Payment within 30 days. Reference no A-17 as stated."
)


def sentences(language: str) -> list[str]:
    return [line.strip() for line in TEXTS[language].strip().splitlines()]


@pytest.fixture(scope="module")
def teller() -> LocalLanguages:
    return local_providers.language_teller()


@pytest.mark.parametrize("language", TEXTS)
def test_short_texts_are_named_rightly_or_not_at_all(teller: LocalLanguages, language: str) -> None:
    found = [teller.language_of(text) for text in sentences(language)]
    assert set(found) <= {language, None}
    assert found.count(language) * 3 >= len(found) * 2


def test_an_english_invoice_is_english(teller: LocalLanguages) -> None:
    assert teller.language_of(ENGLISH_INVOICE) == "en"


@pytest.mark.parametrize(
    "text", ["", "short text", "17 18 19 " * 100, "lorem ipsum dolor sit amet " * 20, "IBAN DE89 3704"]
)
def test_too_little_text_and_none_of_them_have_no_language(teller: LocalLanguages, text: str) -> None:
    assert teller.language_of(text) is None


@pytest.mark.slow
def test_the_unpacked_model_is_the_package_s(teller: LocalLanguages, tmp_path: Path) -> None:
    """Where set-up did not unpack it, the package's own answers, and more slowly."""
    packed = LocalLanguages(tmp_path)
    assert not languages.is_there(tmp_path)
    texts = [text for language in TEXTS for text in sentences(language)]
    assert [packed.language_of(text) for text in texts] == [teller.language_of(text) for text in texts]
