"""The guess is right where it is made, and not made where it would be a gamble."""

# ruff: noqa: RUF001 - letters of other alphabets are the point here

import pytest

from webapp.readers.small_words import guess_language

SAMPLES = {
    "en": "The keeper of the lighthouse was in the tower when the storm came from the sea and he saw that it was not "
    "the wind but a ship which had lost its way on the rocks.",
    "de": "Der Wärter des Turms war in der Nacht nicht auf dem Felsen, und als der Sturm von der See kam, sah er, dass "
    "es nicht der Wind war, sondern ein Schiff mit einer Lampe.",
    "fr": "Le gardien du phare est dans la tour quand la tempête vient de la mer et il ne voit pas que ce n'est pas le "
    "vent mais un bateau qui est sur les rochers pour la nuit.",
    "es": "El guardián del faro está en la torre y no ve que el barco que viene de la mar se pierde en las rocas por "
    "una noche de viento, pero los hombres lo saben y se van con el día.",
    "ru": "Смотритель маяка был в башне, и когда буря пришла с моря, он не знал, что это был не ветер, а корабль, "
    "который так и не нашёл дороги за скалы, но все люди были живы и у него на острове.",
}


@pytest.mark.parametrize("language", SAMPLES)
def test_plain_cases_are_named(language: str) -> None:
    assert guess_language(SAMPLES[language]) == language


@pytest.mark.parametrize("text", ["", "short text", "17 18 19 " * 100, "lorem ipsum dolor sit amet " * 20])
def test_unclear_ones_are_not(text: str) -> None:
    assert guess_language(text) is None


def test_an_english_invoice_is_not_portuguese() -> None:
    text = (
        "Invoice No. 17. Bill to: Acme Ltd, No. 5 Harbour Road. A Bolts 40 1.20 48.00. B Washers 80 3.10 248.00. "
        "Subtotal 296.00 VAT 59.20 Total due 355.20. Payment within 30 days. Do not hesitate to contact us at "
        "billing@acme.com or www.acme.com. Reference no A-17 as stated."
    )
    assert guess_language(text) in {"en", None}
