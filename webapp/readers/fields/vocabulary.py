"""The words by which documents name their values, in English, German, Portuguese, Spanish, French and Russian.

A label that says little by itself ("Date", "Total", "No.") is weak: it counts only where no other says more.
"""

from collections.abc import Mapping


def phrases_by_kind(texts: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Phrases by kind, out of texts that part them by semicolons."""
    return {kind: tuple(" ".join(each.split()) for each in text.split(";")) for kind, text in texts.items()}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def numbered(nouns: str) -> tuple[str, ...]:
    """The labels of a document's number, in whatever order its name and the word for a number are written."""
    names = [" ".join(noun.split()) for noun in nouns.split(";")]
    words = ("no", "nr", "n", "number", "nummer", "número", "num", "numéro", "номер", "id", "ref")
    behind = [f"{noun} {word}" for noun in names for word in words]
    joint = [f"{noun}{word}" for noun in names for word in ("nummer", "nr", "snummer", "snr", "s nr", "s nummer")]
    before = [
        f"{word} {noun}"
        for noun in names
        for word in (
            "no", "nr", "num", "número", "número de", "número do", "número da", "no de", "no do", "no da", "numéro de",
            "numéro du", "numéro", "no du",
            "номер", "ref", "ref do", "référence du", "referência do", "referencia del", "número del", "no del",
        )
    ]  # fmt: skip
    return (*behind, *joint, *before)


# The kinds of values: the name that people read, and what a value looks like.
KINDS: dict[str, tuple[str, str]] = {
    "invoice_number": ("Invoice number", "code"),
    "order_number": ("Order number", "code"),
    "customer_number": ("Customer number", "code"),
    "delivery_note": ("Delivery note", "code"),
    "invoice_date": ("Invoice date", "date"),
    "due_date": ("Due date", "date"),
    "delivery_date": ("Delivery date", "date"),
    "order_date": ("Order date", "date"),
    "supplier": ("Supplier", "party"),
    "customer": ("Customer", "party"),
    "net": ("Net amount", "amount"),
    "tax": ("Tax", "tax"),
    "total": ("Total", "amount"),
    "paid": ("Paid", "amount"),
    "carried": ("Carried forward", "amount"),
    "discount": ("Discount", "amount"),
    "currency": ("Currency", "currency"),
    "iban": ("IBAN", "iban"),
    "account_number": ("Account number", "account"),
    "bic": ("BIC", "bic"),
    "vat_number": ("VAT number", "vat"),
    "customer_vat_number": ("Customer VAT number", "vat"),
    "email": ("E-mail", "email"),
    "phone": ("Phone", "phone"),
    "merchant": ("Merchant", "party"),
    "receipt_number": ("Receipt number", "code"),
    "purchase_date": ("Purchase date", "date"),
    "change": ("Change", "amount"),
    "bank": ("Bank", "party"),
    "account_holder": ("Account holder", "party"),
    "statement_number": ("Statement number", "code"),
    "statement_date": ("Statement date", "date"),
    "period": ("Period", "period"),
    "period_start": ("Period from", "date"),
    "period_end": ("Period to", "date"),
    "opening_balance": ("Opening balance", "balance"),
    "credits": ("Total credits", "balance"),
    "debits": ("Total debits", "balance"),
    "closing_balance": ("Closing balance", "balance"),
    "party": ("Party", "party"),
    "contract_number": ("Contract number", "code"),
    "contract_date": ("Contract date", "date"),
    "start_date": ("Start date", "date"),
    "end_date": ("End date", "date"),
    "notice_period": ("Notice period", "duration"),
    "term": ("Term", "duration"),
    "sender": ("Sender", "party"),
    "recipient": ("Recipient", "party"),
    "letter_date": ("Letter date", "date"),
    "subject": ("Subject", "text"),
    "reference": ("Reference", "code"),
}
# Read so that nothing else takes their values, or to check others; people see them in the lines and totals.
NOT_SHOWN = frozenset({"carried", "discount", "paid", "currency", "bic"})

TITLES = phrases_by_kind(
    {
        "title": """
            invoice; tax invoice; sales invoice; commercial invoice; proforma invoice; bill; credit note; rechnung;
            faktura; gutschrift; abschlagsrechnung; schlussrechnung; fatura; factura; fatura recibo; fatura
            simplificada; nota fiscal; facture; avoir; счет; счет на оплату; счет фактура; счетфактура; инвойс; factura
            simplificada
        """,
    }
)["title"]

STRONG = phrases_by_kind(
    {
        "invoice_number": """
            invoice number; invoice no; invoice nr; invoice id; invoice ref; invoice reference; tax invoice no; bill
            number; bill no; document number; document no; rechnungsnummer; rechnungsnr; rechnungs nr; rechnung nr;
            rechnung nummer; rechnung no; belegnummer; belegnr; beleg nr; faktura nr; re nr; renr; número da fatura;
            número de fatura; fatura no; fatura número; nº da fatura; nº fatura; fatura nr; factura no; factura número;
            número de factura; número factura; nº factura; nº de factura; factura nº; factura num; num factura; número
            do documento; nota fiscal no; nota fiscal número; numéro de facture; numéro facture; facture no; no facture;
            no de facture; facture numéro; no de la facture; numéro de la facture; référence facture; номер счета; счет
            no; счет номер; no счета; номер инвойса; счет на оплату no; счет фактура no; счетфактура no; номер
            счетафактуры; номер счета фактуры
        """,
        "order_number": """
            order number; order no; order id; order ref; po number; po no; po; purchase order; purchase order number;
            purchase order no; your order; your order no; your order number; your po; customer order; bestellnummer;
            bestellnr; bestell nr; ihre bestellung; ihre bestellnummer; auftragsnummer; auftragsnr; auftrags nr; auftrag
            nr; bestellung nr; bestellung; encomenda; nº da encomenda; nº encomenda; encomenda no; número da encomenda;
            nota de encomenda; pedido no; número do pedido; nº do pedido; número de pedido; nº pedido; nº de pedido; su
            pedido; vosso pedido; pedido; numéro de commande; no de commande; commande no; votre commande; bon de
            commande; référence commande; no commande; номер заказа; заказ no; no заказа; ваш заказ; заявка no
        """,
        "customer_number": """
            customer number; customer no; customer id; account no; client number; client no; client id; customer
            account; kundennummer; kundennr; kunden nr; kdnr; kd nr; kunden no; nº de cliente; nº cliente; cliente no;
            código do cliente; código cliente; código de cliente; número de cliente; numéro client; no client; code
            client; numéro de client; номер клиента; код клиента; код покупателя
        """,
        "delivery_note": """
            delivery note; delivery note no; delivery no; lieferscheinnummer; lieferschein nr; lieferscheinnr;
            lieferschein; guia de remessa; albarán; albarán no; bon de livraison; bon de livraison no; накладная no
        """,
        "invoice_date": """
            invoice date; date of invoice; date of issue; issue date; issued; issued on; date issued; billing date; bill
            date; tax date; rechnungsdatum; belegdatum; ausstellungsdatum; ausgestellt am; datum der rechnung; rechnung
            vom; data da fatura; data de fatura; data de emissão; data emissão; emitida em; emitido em; data da emissão;
            data do documento; fecha de factura; fecha factura; fecha de emisión; fecha emisión; fecha de expedición;
            fecha de la factura; date de facture; date facture; date de la facture; date démission; date de facturation;
            émise le; émis le; facture du; дата счета; дата выставления; дата выставления счета; дата счетафактуры; дата
            инвойса; дата документа
        """,
        "due_date": """
            due date; payment due; payment due date; due; due on; due by; pay by; payable by; payment due by; date due;
            payment date due; please pay by; payment is due by; payment is due on; payable until; payable on; fällig am;
            fällig; fälligkeitsdatum; fälligkeit; zahlbar bis; zahlbar bis zum; zahlbar am; zahlungsziel; zahlung bis;
            zu zahlen bis; zahlungsfrist; bis zum; spätestens bis; data de vencimento; data vencimento; vencimento;
            vence em; vence a; pagar até; pagamento até; data limite de pagamento; prazo de pagamento; ser feito até;
            liquidar até; a pagar até; fecha de vencimiento; fecha vencimiento; vencimiento; vence el; vence; pagar
            antes del; antes del; pagadero hasta el; pagar hasta el; fecha límite de pago; date déchéance; échéance;
            date échéance; à payer avant le; avant le; à régler avant le; date limite de paiement; payable le; payable
            avant le; au plus tard le; règlement avant le; échéance le; срок оплаты; оплатить до; просим оплатить до;
            дата платежа; оплатить не позднее; не позднее; срок платежа; оплата до; дата оплаты
        """,
        "delivery_date": """
            delivery date; date of delivery; date of supply; supply date; service date; lieferdatum; leistungsdatum;
            liefertermin; leistungszeitraum; data de entrega; data da entrega; fecha de entrega; date de livraison; дата
            поставки; дата доставки; дата отгрузки
        """,
        "order_date": """
            order date; date of order; bestelldatum; auftragsdatum; data da encomenda; data do pedido; fecha de pedido;
            fecha del pedido; date de commande; дата заказа
        """,
        "supplier": """
            seller; supplier; vendor; issued by; verkäufer; lieferant; rechnungssteller; leistungserbringer; fornecedor;
            emitente; prestador; vendedor; proveedor; emisor; vendeur; fournisseur; émetteur; prestataire; поставщик;
            продавец; исполнитель
        """,
        "customer": """
            bill to; billed to; invoice to; invoiced to; customer; sold to; buyer; client; billing address;
            rechnungsempfänger; kunde; käufer; rechnung an; rechnungsadresse; rechnungsanschrift; auftraggeber;
            empfänger; cliente; faturar a; faturado a; adquirente; comprador; destinatário; facturar a; facturado a;
            destinatario; client facturé; facturé à; facturer à; adresse de facturation; destinataire; acheteur;
            покупатель; заказчик; плательщик; клиент; получатель счета; грузополучатель
        """,
        "net": """
            net amount; net total; total net; subtotal; sub total; total excl vat; total excluding vat; amount excl vat;
            total before tax; total ex vat; taxable amount; nettobetrag; zwischensumme; summe netto; gesamt netto;
            netto; nettosumme; gesamtnetto; warenwert; netto gesamt; nettowert; total ilíquido; valor líquido; total sem
            iva; base tributável; total líquido; montante líquido; valor sem iva; base imponible; importe neto; total
            sin iva; total neto; neto; total ht; soustotal; sous total; montant ht; total hors taxes; net ht; total net
            ht; montant hors taxes; total hors taxe; сумма без ндс; итого без ндс; всего без ндс; подытог; промежуточный
            итог; стоимость без ндс; net
        """,
        "total": """
            total due; amount due; grand total; invoice total; balance due; total incl vat; total including vat; total
            amount; total amount due; total payable; amount payable; invoice amount; total to pay; total gross; gross
            amount; gross total; gesamtbetrag; rechnungsbetrag; zu zahlen; zu zahlender betrag; bruttobetrag;
            gesamtsumme; endbetrag; gesamt brutto; summe brutto; zahlbetrag; endsumme; rechnungssumme; brutto;
            gesamtbetrag brutto; rechnungsendbetrag; total a pagar; total da fatura; valor total; total com iva;
            montante a pagar; total geral; valor a pagar; total do documento; total factura; importe total; total con
            iva; total de la factura; importe a pagar; total ttc; net à payer; montant ttc; total à payer; montant
            total; total ttc à payer; montant dû; montant à payer; net à payer ttc; total toutes taxes comprises; итого
            к оплате; всего к оплате; всего с ндс; сумма к оплате; итого с ндс; общая сумма; к оплате; сумма счета
        """,
        "paid": "paid; amount paid; bereits gezahlt; anzahlung; pago; pagado; déjà réglé; acompte; оплачено",
        "discount": "discount; rabatt; skonto; desconto; descuento; remise; скидка",
        "carried": """
            carried forward; brought forward; carried over; übertrag; a transportar; transporte; suma y sigue; suma
            anterior; à reporter; report; перенос
        """,
        "currency": "currency; währung; moeda; moneda; devise; валюта",
        "iban": "iban; account iban; iban no; konto iban; bankverbindung",
        "bic": "bic; swift; bicswift; swiftbic; bic swift",
        "account_number": "account number; bank account; рс; расчетный счет; рсчет; р с; сч no; kontonummer",
        "vat_number": """
            vat no; vat number; vat reg no; vat registration number; vat id; vat; tax id; tax number; company vat; vat
            registration no; ein; ustidnr; ustid; ust id; ust idnr; umsatzsteuerid; uid; steuernummer; steuernr; stnr;
            mwstnr; nif; contribuinte no; contribuinte; nipc; nif nipc; cnpj; cif; nifcif; no tva; tva
            intracommunautaire; no de tva; numéro de tva; no tva intracommunautaire; tva intracom; инн
        """,
        "customer_vat_number": """
            your vat no; customer vat; customer vat no; customer vat number; your vat number; ihre ustidnr; ustidnr
            kunde; nif do cliente; nif cliente; tva client; no tva client
        """,
        "email": "email; mail; courriel; correo electrónico; correo; эл почта; электронная почта; почта",
        "phone": """
            phone; tel; telephone; telephone no; phone no; mobile; telefon; fon; mobil; telefone; telemóvel; teléfono;
            móvil; téléphone; tél; portable; телефон; тел
        """,
    }
)
WEAK = phrases_by_kind(
    {
        "invoice_number": """
            number; no; nr; invoice; reference; ref; rechnung; nummer; fatura; factura; número; num; numéro; facture;
            номер; счет; инвойс; счет на оплату; nota fiscal
        """,
        "invoice_date": "date; dated; datum; data; fecha; le; дата",
        "supplier": "from; von; de; absender; от кого",
        "customer": "to; an; para; à; кому",
        "total": "total; gesamt; summe; betrag; итого; всего; сумма; montant; importe; valor; amount",
        "customer_number": "account",
    }
)
TAX_WORDS = _words(
    """
    gst hst igic imposto impuesto iva mehrwertsteuer mwst steuer tax taxa taxe tva umsatzsteuer ust vat ндс
    """
)
# Words beside a tax's name that are part of its label.
TAX_FILLERS = _words(
    """
    a add amount at auf aus betrag cuota da darin de do dont enthaltene importe incl including inkl montant of
    plus sales taxa total valor von zzgl à в на сумма том тч числе
    """
)

COLUMNS = phrases_by_kind(
    {
        "position": "pos; position; no; nr; line; item no; no пп; no п п; п п; lfd nr; num; ln",
        "code": """
            item no; item code; sku; code; article; art no; product code; part no; part number; artnr; art nr;
            artikelnr; artikelnummer; artikel nr; código; ref; referência; referencia; réf; référence; артикул; код;
            product no; cod
        """,
        "description": """
            description; item; service; details; product; item description; activity; goods; particulars; bezeichnung;
            beschreibung; leistung; artikel; position bezeichnung; produkt; artikelbezeichnung; descrição; designação;
            artigo; produto; serviço; descripción; concepto; artículo; detalle; producto; désignation; libellé;
            prestation; produit; article; наименование; товар; услуга; описание; наименование товара; товары работы
            услуги; наименование товаров; item service; назначение
        """,
        "quantity": """
            qty; quantity; hours; hrs; units; menge; anzahl; stück; std; qtd; quantidade; qte; cantidad; cant; uds;
            unidades; qté; quantité; колво; кол во; количество
        """,
        "unit": "unit; uom; einheit; einh; me; un; unid; unidade; unidad; ud; unité; u; ед; ед изм; единица",
        "price": """
            unit price; price; rate; price each; unit cost; cost; each; price per unit; unit rate; einzelpreis; preis;
            epreis; stückpreis; ep; einzel; preis stück; einheitspreis; preço unitário; preço; preço unit; p unitário; p
            unit; valor unitário; pvp; precio unitario; precio; precio unit; p unitario; prix unitaire; pu ht; pu; prix
            unitaire ht; prix; prix ht; prix unit; цена; цена за ед; цена за единицу
        """,
        "discount": "discount; disc; rabatt; desconto; desc; dto; descuento; remise; скидка",
        "rate": """
            vat; vat %; tax rate; vat rate; tax; tax %; mwst; ust %; ust; steuersatz; mwst %; steuer; iva; iva %; taxa;
            taxa iva; tipo; tipo iva; tva; taux tva; tva %; taux; ндс; ставка ндс; ндс %; ставка
        """,
        "tax": """
            vat amount; tax amount; steuerbetrag; mwst betrag; valor iva; valor do iva; cuota; montant tva; сумма ндс
        """,
        "amount": """
            amount; total; line total; net amount; total price; sum; extended price; net; total net; total amount;
            subtotal; betrag; gesamt; gesamtpreis; summe; gesamtbetrag; gp; netto; nettobetrag; valor; montante;
            importância; valor total; preço total; total líquido; importe; importe neto; importe total; precio total;
            montant; total ht; montant ht; prix total; total ttc; сумма; стоимость; сумма без ндс; всего; сумма с ндс;
            стоимость без ндс; итого
        """,
    }
)
LEGAL_FORMS = _words(
    """
    ab ag aps as bv corp eurl ev gbr gmbh inc incorporated kg lda limited llc llp ltd mbh nv ohg oy plc sa sarl
    sas sasu sau sci se sl slu spa srl ug unipessoal ао зао ип оао ооо пао
    """
)
