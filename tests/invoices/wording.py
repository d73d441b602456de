"""How invoices say it: labels in six languages, amounts and dates in the forms of each."""

import random
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

# Several names for each thing; an invoice takes one of them.
LABELS: dict[str, dict[str, tuple[str, ...]]] = {
    "en": {
        "title": ("INVOICE", "Invoice", "Tax Invoice", "Sales Invoice"),
        "number": ("Invoice number", "Invoice No.", "Invoice #", "Invoice no", "Number"),
        "date": ("Invoice date", "Date", "Date of issue", "Issue date", "Issued"),
        "due": ("Due date", "Payment due", "Due", "Pay by", "Due on"),
        "order": ("Order number", "PO number", "Your order", "Purchase order", "P.O. No."),
        "customer_number": ("Customer number", "Customer no.", "Account no.", "Customer ID"),
        "seller": ("From", "Seller", "Supplier"),
        "buyer": ("Bill to", "Invoice to", "Billed to", "Customer", "Sold to"),
        "net": ("Subtotal", "Net amount", "Net total", "Total excl. VAT", "Sub-total"),
        "tax": ("VAT {rate}%", "VAT ({rate}%)", "Sales tax {rate}%", "VAT @ {rate}%", "Tax {rate}%"),
        "total": ("Total", "Total due", "Amount due", "Grand total", "Invoice total", "Balance due", "Total incl. VAT"),
        "position": ("#", "Pos.", "No."),
        "code": ("Item no.", "SKU", "Code"),
        "description": ("Description", "Item", "Service", "Details"),
        "quantity": ("Qty", "Quantity", "Hours"),
        "unit": ("Unit",),
        "price": ("Unit price", "Price", "Rate"),
        "rate": ("VAT", "VAT %", "Tax rate"),
        "amount": ("Amount", "Total", "Line total", "Net amount"),
        "base": ("Net", "Taxable amount"),
        "iban": ("IBAN", "Account (IBAN)"),
        "vat": ("VAT No.", "VAT number", "VAT Reg. No.", "VAT ID"),
        "email": ("E-mail", "Email"),
        "phone": ("Phone", "Tel.", "Telephone"),
        "carried": ("Carried forward",),
        "thanks": ("Thank you for your business.", "Please quote the number above with your payment."),
        "of": ("of", "dated"),
        "sentence": ("Please pay by {due}.", "Payment is due by {due}."),
    },
    "de": {
        "title": ("Rechnung", "RECHNUNG"),
        "number": ("Rechnungsnummer", "Rechnungs-Nr.", "Rechnung Nr.", "Rechnungsnr.", "Nr.", "Beleg-Nr."),
        "date": ("Rechnungsdatum", "Datum", "Ausstellungsdatum", "Belegdatum"),
        "due": ("Fällig am", "Fälligkeitsdatum", "Zahlbar bis", "Fälligkeit", "Zahlungsziel"),
        "order": ("Bestellnummer", "Bestell-Nr.", "Ihre Bestellung", "Auftragsnummer", "Auftrags-Nr."),
        "customer_number": ("Kundennummer", "Kunden-Nr.", "Kd.-Nr."),
        "seller": ("Verkäufer", "Lieferant", "Rechnungssteller", "Von"),
        "buyer": ("Rechnungsempfänger", "Kunde", "Rechnung an", "Rechnungsadresse"),
        "net": ("Nettobetrag", "Zwischensumme", "Summe netto", "Netto", "Gesamt netto"),
        "tax": ("MwSt. {rate} %", "USt. {rate}%", "Umsatzsteuer {rate} %", "zzgl. {rate} % MwSt.", "{rate} % USt."),
        "total": ("Gesamtbetrag", "Rechnungsbetrag", "Gesamt", "Zu zahlen", "Bruttobetrag", "Gesamtsumme", "Endbetrag"),
        "position": ("Pos.", "Nr.", "Pos"),
        "code": ("Art.-Nr.", "Artikelnr."),
        "description": ("Bezeichnung", "Beschreibung", "Leistung", "Artikel"),
        "quantity": ("Menge", "Anzahl"),
        "unit": ("Einheit", "Einh."),
        "price": ("Einzelpreis", "Preis", "E-Preis", "Stückpreis"),
        "rate": ("MwSt.", "USt. %", "Steuersatz"),
        "amount": ("Betrag", "Gesamt", "Gesamtpreis", "Summe"),
        "base": ("Netto", "Bemessungsgrundlage"),
        "iban": ("IBAN",),
        "vat": ("USt-IdNr.", "USt-ID", "UID"),
        "email": ("E-Mail",),
        "phone": ("Telefon", "Tel."),
        "carried": ("Übertrag",),
        "thanks": ("Vielen Dank für Ihren Auftrag.", "Bitte geben Sie bei der Zahlung die Nummer an."),
        "of": ("vom",),
        "sentence": ("Bitte überweisen Sie den Betrag bis zum {due}.", "Zahlbar bis {due} ohne Abzug."),
    },
    "pt": {
        "title": ("FATURA", "Fatura", "Factura", "Nota fiscal"),
        "number": ("Número da fatura", "Fatura n.º", "Fatura Nº", "N.º", "Nº da fatura"),
        "date": ("Data da fatura", "Data", "Data de emissão", "Emitida em"),
        "due": ("Data de vencimento", "Vencimento", "Vence em", "Pagar até"),
        "order": ("N.º da encomenda", "Encomenda", "Número do pedido", "Pedido n.º", "Nota de encomenda"),
        "customer_number": ("N.º de cliente", "Código do cliente", "Cliente n.º"),
        "seller": ("Fornecedor", "Emitente", "De"),
        "buyer": ("Cliente", "Faturar a", "Faturado a", "Destinatário"),
        "net": ("Subtotal", "Total ilíquido", "Valor líquido", "Total sem IVA", "Base tributável"),
        "tax": ("IVA {rate}%", "IVA ({rate} %)", "IVA à taxa de {rate}%"),
        "total": ("Total", "Total a pagar", "Total da fatura", "Valor total", "Total com IVA", "Montante a pagar"),
        "position": ("#", "Item"),
        "code": ("Código", "Ref.", "Referência"),
        "description": ("Descrição", "Designação", "Artigo", "Produto"),
        "quantity": ("Qtd.", "Quantidade", "Qtd"),
        "unit": ("Un.", "Unid."),
        "price": ("Preço unitário", "Preço", "Preço unit.", "P. unitário"),
        "rate": ("IVA", "IVA %", "Taxa"),
        "amount": ("Valor", "Total", "Montante", "Importância"),
        "base": ("Base", "Incidência"),
        "iban": ("IBAN",),
        "vat": ("NIF", "Contribuinte n.º", "NIPC"),
        "email": ("E-mail", "Email"),
        "phone": ("Telefone", "Tel."),
        "carried": ("A transportar",),
        "thanks": ("Obrigado pela sua preferência.", "Documento processado por computador."),
        "of": ("de",),
        "sentence": ("O pagamento deve ser feito até {due}.", "Pagamento até {due}."),
    },
    "es": {
        "title": ("FACTURA", "Factura"),
        "number": ("Número de factura", "Factura n.º", "Nº factura", "Factura Nº", "N.º"),
        "date": ("Fecha de factura", "Fecha", "Fecha de emisión", "Fecha factura"),
        "due": ("Fecha de vencimiento", "Vencimiento", "Vence el", "Pagar antes del"),
        "order": ("Número de pedido", "Pedido n.º", "Su pedido", "Nº pedido"),
        "customer_number": ("Número de cliente", "N.º cliente", "Código cliente"),
        "seller": ("Proveedor", "Emisor", "Vendedor"),
        "buyer": ("Cliente", "Facturar a", "Destinatario", "Facturado a"),
        "net": ("Base imponible", "Subtotal", "Importe neto", "Total sin IVA"),
        "tax": ("IVA {rate}%", "IVA ({rate} %)", "I.V.A. {rate}%", "Cuota IVA {rate} %"),
        "total": ("Total", "Total a pagar", "Total factura", "Importe total", "TOTAL", "Total con IVA"),
        "position": ("#", "Pos."),
        "code": ("Código", "Ref.", "Referencia"),
        "description": ("Descripción", "Concepto", "Artículo", "Detalle"),
        "quantity": ("Cantidad", "Cant.", "Uds."),
        "unit": ("Unidad",),
        "price": ("Precio unitario", "Precio", "Precio unit."),
        "rate": ("IVA", "IVA %", "Tipo"),
        "amount": ("Importe", "Total", "Importe neto"),
        "base": ("Base",),
        "iban": ("IBAN",),
        "vat": ("NIF", "CIF", "N.I.F."),
        "email": ("Correo electrónico", "E-mail"),
        "phone": ("Teléfono", "Tel."),
        "carried": ("Suma y sigue",),
        "thanks": ("Gracias por su confianza.", "Indique el número en su pago."),
        "of": ("de", "del"),
        "sentence": ("El pago debe efectuarse antes del {due}.", "Pagadero hasta el {due}."),
    },
    "fr": {
        "title": ("FACTURE", "Facture"),
        "number": ("Numéro de facture", "Facture n°", "N° de facture", "Facture N°", "N°"),
        "date": ("Date de facture", "Date", "Date d'émission", "Date de facturation"),
        "due": ("Date d'échéance", "Échéance", "À payer avant le", "Date limite de paiement", "Payable le"),
        "order": ("Numéro de commande", "Commande n°", "Votre commande", "N° de commande", "Bon de commande"),
        "customer_number": ("Numéro client", "N° client", "Code client"),
        "seller": ("Vendeur", "Émetteur", "Fournisseur"),
        "buyer": ("Client", "Facturé à", "Adresse de facturation", "Destinataire"),
        "net": ("Total HT", "Sous-total", "Montant HT", "Total hors taxes", "Net HT"),
        "tax": ("TVA {rate} %", "TVA ({rate}%)", "TVA à {rate} %", "Montant TVA {rate} %"),
        "total": ("Total TTC", "Net à payer", "Montant TTC", "Total à payer", "Montant total", "Total TTC à payer"),
        "position": ("#", "N°"),
        "code": ("Réf.", "Référence", "Code"),
        "description": ("Désignation", "Description", "Libellé", "Prestation"),
        "quantity": ("Qté", "Quantité"),
        "unit": ("Unité",),
        "price": ("Prix unitaire", "P.U. HT", "Prix unitaire HT", "PU"),
        "rate": ("TVA", "Taux TVA", "TVA %"),
        "amount": ("Montant", "Total HT", "Montant HT", "Total"),
        "base": ("Base HT", "Base"),
        "iban": ("IBAN",),
        "vat": ("N° TVA", "TVA intracommunautaire", "N° de TVA"),
        "email": ("E-mail", "Courriel"),
        "phone": ("Téléphone", "Tél."),
        "carried": ("À reporter",),
        "thanks": ("Merci de votre confiance.", "Merci d'indiquer le numéro lors du règlement."),
        "of": ("du",),
        "sentence": ("Merci de régler avant le {due}.", "Paiement à effectuer au plus tard le {due}."),
    },
    "ru": {
        "title": ("СЧЁТ", "Счёт", "Счет на оплату", "Счёт-фактура"),
        "number": ("Номер счёта", "Счёт №", "Счет №", "Номер", "№ счета"),
        "date": ("Дата счёта", "Дата", "Дата выставления", "Дата счета"),
        "due": ("Срок оплаты", "Оплатить до", "Дата платежа", "Оплатить не позднее"),
        "order": ("Номер заказа", "Заказ №", "№ заказа"),
        "customer_number": ("Номер клиента", "Код клиента"),
        "seller": ("Поставщик", "Продавец", "Исполнитель"),
        "buyer": ("Покупатель", "Заказчик", "Плательщик", "Клиент"),
        "net": ("Сумма без НДС", "Итого без НДС", "Подытог", "Всего без НДС"),
        "tax": ("НДС {rate}%", "НДС ({rate}%)", "Сумма НДС {rate}%"),
        "total": ("Итого", "Итого к оплате", "Всего к оплате", "Всего с НДС", "Сумма к оплате", "Итого с НДС"),
        "position": ("№", "№ п/п"),
        "code": ("Артикул", "Код"),
        "description": ("Наименование", "Товар", "Услуга", "Описание"),
        "quantity": ("Кол-во", "Количество"),
        "unit": ("Ед.", "Ед. изм."),
        "price": ("Цена", "Цена за ед."),
        "rate": ("НДС", "Ставка НДС"),
        "amount": ("Сумма", "Стоимость", "Сумма без НДС"),
        "base": ("База", "Сумма без НДС"),
        "iban": ("Р/с", "Расчётный счёт", "Р/счёт"),
        "vat": ("ИНН",),
        "email": ("Эл. почта", "E-mail"),
        "phone": ("Телефон", "Тел."),
        "carried": ("Перенос",),
        "thanks": ("Спасибо за заказ.", "Оплата означает согласие с условиями поставки."),
        "of": ("от",),
        "sentence": ("Просим оплатить до {due}.", "Оплатить не позднее {due}."),
    },
}
_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
}
_DATES = {
    "en": ("{d} {month} {y}", "{d:02d}/{m:02d}/{y}", "{y}-{m:02d}-{d:02d}", "{d} {short} {y}", "{month} {d}, {y}"),
    "de": ("{d:02d}.{m:02d}.{y}", "{d}. {month} {y}", "{d}.{m}.{y}", "{d:02d}.{m:02d}.{yy:02d}"),
    "pt": ("{d:02d}/{m:02d}/{y}", "{d} de {month} de {y}", "{d:02d}-{m:02d}-{y}"),
    "es": ("{d:02d}/{m:02d}/{y}", "{d} de {month} de {y}", "{d:02d}-{m:02d}-{y}"),
    "fr": ("{d:02d}/{m:02d}/{y}", "{d} {month} {y}", "{d:02d}.{m:02d}.{y}"),
    "ru": ("{d:02d}.{m:02d}.{y}", "{d} {month} {y} г.", "{d:02d}.{m:02d}.{y} г."),
}
_SIGNS = {"GBP": "£", "USD": "$", "EUR": "€", "CHF": "CHF", "BRL": "R$", "RUB": "₽"}
_NO_BREAK, _NARROW = "\u00a0", "\u202f"


@dataclass
class Wording:
    """One invoice's choice of labels and forms."""

    chance: random.Random
    language: str
    currency: str

    def __post_init__(self) -> None:
        self.chosen = {name: self.chance.choice(options) for name, options in LABELS[self.language].items()}
        forms = _DATES[self.language]
        if self.currency == "USD":
            forms = ("{m:02d}/{d:02d}/{y}", "{month} {d}, {y}", "{short} {d}, {y}")
        self._date = self.chance.choice(forms)
        self._marks = _marks(self.chance, self.language, self.currency)
        sign, code = _SIGNS[self.currency], self.currency
        before = self.currency in {"GBP", "USD", "CHF", "BRL"} or self.language == "en"
        spaced = ("{sign} {n}", "{code} {n}") if before else ("{n} {sign}", "{n} {code}")
        tight = ("{sign}{n}",) if before and sign != "CHF" else ("{n}\u00a0{sign}",)
        self._money = self.chance.choice((*spaced, *tight)).replace("{sign}", sign).replace("{code}", code)
        self.money_in_lines = self.chance.random() < 0.4

    def __getitem__(self, name: str) -> str:
        return self.chosen[name]

    def tax(self, rate: int) -> str:
        return self["tax"].format(rate=rate)

    def date(self, day: date) -> str:
        month = _MONTHS[self.language].split()[day.month - 1]
        return self._date.format(d=day.day, m=day.month, y=day.year, yy=day.year % 100, month=month, short=month[:3])

    def plain(self, amount: Decimal) -> str:
        """An amount without its currency."""
        thousands, point = self._marks
        return f"{amount:,.2f}".replace(",", "\0").replace(".", point).replace("\0", thousands)

    def money(self, amount: Decimal) -> str:
        return self._money.replace("{n}", self.plain(amount))

    def line(self, amount: Decimal) -> str:
        """An amount as the lines show it: many leave the currency out."""
        return self.money(amount) if self.money_in_lines else self.plain(amount)

    def count(self, quantity: Decimal) -> str:
        return f"{quantity:f}"

    def account(self, account: str) -> str:
        """An account number in groups of four, as people write it."""
        if self.language == "ru":
            return account
        return " ".join(account[start : start + 4] for start in range(0, len(account), 4))


def _marks(chance: random.Random, language: str, currency: str) -> tuple[str, str]:
    if currency == "CHF":
        return ("'", ".")
    if language == "en":
        return (",", ".")
    if language in {"fr", "ru"}:
        return (chance.choice((_NO_BREAK, _NARROW, " ")), ",")
    return (".", ",")
