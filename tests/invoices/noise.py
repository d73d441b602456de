"""What real invoices carry besides: other dates, numbers, sums and names that no rule may take for the ones it looks for."""

from datetime import timedelta
from html import escape

from tests.invoices.layouts import Layout
from tests.invoices.parts import Pair, Sheet

_WORDS = {
    "en": {
        "delivery": "Delivery date", "terms": ("Payment terms", "14 days net"), "contact": ("Your contact", "Accounts team"), "project": ("Project", "P-2024-77"),
        "page": "Page 1 of 1", "printed": "Printed on {date} at 14:32", "register": "Registered in England No. 04417253", "bank": "Bank: Harbour Bank, BIC: HARBGB2L",
        "prose": "Goods remain our property until paid in full. Interest of 8% is charged after the due date. Questions: see our terms of 01/01/2020, page 3.",
        "shipping": "Shipping", "paid": "Amount paid", "weight": "Total weight: 120 kg",
    },
    "de": {
        "delivery": "Lieferdatum", "terms": ("Zahlungsbedingungen", "14 Tage netto"), "contact": ("Ansprechpartner", "Team Buchhaltung"), "project": ("Projekt", "P-2024-77"),
        "page": "Seite 1 von 1", "printed": "Gedruckt am {date} um 14:32", "register": "Amtsgericht Hamburg HRB 123456", "bank": "Bank: Hafenbank, BIC: HARBDEFF",
        "prose": "Die Ware bleibt bis zur vollständigen Bezahlung unser Eigentum. Bei Zahlung innerhalb von 7 Tagen gewähren wir 2 % Skonto. Es gelten unsere Bedingungen vom 01.01.2020.",
        "shipping": "Versandkosten", "paid": "Anzahlung", "weight": "Gesamtgewicht: 120 kg",
    },
    "pt": {
        "delivery": "Data de entrega", "terms": ("Condições de pagamento", "14 dias"), "contact": ("Contacto", "Contabilidade"), "project": ("Projeto", "P-2024-77"),
        "page": "Página 1 de 1", "printed": "Impresso em {date} às 14:32", "register": "Capital social 50.000,00 EUR, CRC Porto 512345", "bank": "Banco: Banco do Porto, BIC: HARBPTPL",
        "prose": "Os bens permanecem nossa propriedade até ao pagamento integral. Juros de 8% após a data de vencimento. Condições gerais de 01/01/2020.",
        "shipping": "Portes", "paid": "Valor pago", "weight": "Peso total: 120 kg",
    },
    "es": {
        "delivery": "Fecha de entrega", "terms": ("Condiciones de pago", "14 días"), "contact": ("Contacto", "Contabilidad"), "project": ("Proyecto", "P-2024-77"),
        "page": "Página 1 de 1", "printed": "Impreso el {date} a las 14:32", "register": "Registro Mercantil de Madrid, tomo 1234, folio 56", "bank": "Banco: Banco del Puerto, BIC: HARBESMM",
        "prose": "La mercancía es propiedad nuestra hasta el pago total. Intereses del 8% después de la fecha de vencimiento. Condiciones generales de 01/01/2020.",
        "shipping": "Gastos de envío", "paid": "Pagado", "weight": "Peso total: 120 kg",
    },
    "fr": {
        "delivery": "Date de livraison", "terms": ("Conditions de règlement", "14 jours"), "contact": ("Votre contact", "Service comptable"), "project": ("Projet", "P-2024-77"),
        "page": "Page 1 sur 1", "printed": "Imprimé le {date} à 14:32", "register": "SIRET 123 456 789 00012 - RCS Paris B 123 456 789", "bank": "Banque : Banque du Port, BIC : HARBFRPP",
        "prose": "Pas d'escompte pour paiement anticipé. Pénalités de 8 % après la date d'échéance, indemnité forfaitaire de 40,00 €. Conditions générales du 01/01/2020.",
        "shipping": "Frais de port", "paid": "Acompte versé", "weight": "Poids total : 120 kg",
    },
    "ru": {
        "delivery": "Дата поставки", "terms": ("Условия оплаты", "14 дней"), "contact": ("Контакт", "Бухгалтерия"), "project": ("Проект", "П-2024-77"),
        "page": "Страница 1 из 1", "printed": "Напечатано {date} в 14:32", "register": "ОГРН 1027700132195", "bank": "Банк: АО «Портбанк», БИК 044525225",
        "prose": "Товар остаётся собственностью поставщика до полной оплаты. Пени 8% после срока оплаты. Общие условия от 01.01.2020.",
        "shipping": "Доставка", "paid": "Оплачено", "weight": "Общий вес: 120 кг",
    },
}  # fmt: skip


def noisy(layout: Layout) -> Layout:
    """The same layout with what real invoices carry besides."""

    def with_noise(sheet: Sheet) -> str:
        html = layout(_Noisy(sheet.inv, sheet.words, sheet.printed))
        words, more = _WORDS[sheet.inv.language], sheet.words.chance
        top = f"<div style='font-size:8pt;text-align:right'>{escape(str(words['page']))}</div>"
        printed = str(words["printed"]).format(date=sheet.words.date(sheet.inv.date + timedelta(2)))
        foot = f"<p>{escape(str(words['weight']))}</p><p style='font-size:8pt'>{escape(str(words['prose']))}</p><p style='font-size:7pt'>{escape(str(words['register']))}<br>{escape(str(words['bank']))}<br>{escape(printed)}</p>"
        html = html.replace("<body>", f"<body>{top}" if more.random() < 0.7 else "<body>")
        return html.replace("</body>", f"{foot}</body>")

    with_noise.__name__ = f"noisy_{layout.__name__}"
    return with_noise


class _Noisy(Sheet):
    """A sheet whose blocks hold more pairs than were asked for."""

    def meta(self, *kinds: str) -> list[Pair]:
        rows = super().meta(*kinds)
        words = _WORDS[self.inv.language]
        delivery = (str(words["delivery"]), self.words.date(self.inv.date - timedelta(3)))
        extra: list[Pair] = [delivery, words["terms"], words["contact"], words["project"]]  # type: ignore[list-item] # all are pairs
        for pair in self.words.chance.sample(extra, 2):
            if pair is delivery:
                self.say("delivery")
            rows.insert(self.words.chance.randrange(len(rows) + 1), pair)
        return rows
