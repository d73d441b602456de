"""The words of receipts in six languages."""

from webapp.readers.fields.labels import Phrases, Vocabulary, titles_of
from webapp.readers.fields.vocabulary import COLUMNS, STRONG, numbered, phrases_by_kind

TITLES = phrases_by_kind(
    {
        "title": """
            receipt; sales receipt; cash receipt; customer receipt; customer copy; till receipt; your receipt;
            purchase receipt; payment receipt; official receipt; store receipt; receipt of sale; kassenbon;
            kassenbeleg; quittung; kassenzettel; kundenbeleg; barbeleg; kaufbeleg; verkaufsbeleg; barverkauf;
            kundenbon; recibo; talão; talão de compra; talão de venda; recibo de compra; recibo de venda; comprovativo
            de compra; comprovativo de pagamento; fatura simplificada; cupom fiscal; cupão; ticket; ticket de compra;
            tique; tique de compra; justificante de compra; factura simplificada; recibo de pago; comprobante de
            compra; ticket de venta; ticket de caisse; reçu; reçu de paiement; ticket client; reçu client; reçu
            dachat; ticket dachat; justificatif de paiement; кассовый чек; чек; товарный чек; фискальный чек;
            квитанция; чек продажи; копия чека; электронный чек
        """,
    }
)["title"]

_STRONG = phrases_by_kind(
    {
        "receipt_number": """
            receipt number; receipt no; receipt; receipt id; sales receipt no; transaction no; transaction number;
            transaction; trans no; trans; ticket no; ticket number; ticket; till receipt no; bon nr; bonnr; bon
            nummer; bonnummer; belegnummer; beleg nr; belegnr; quittung nr; quittungsnummer; quittungsnr; kassenbon
            nr; vorgangsnummer; recibo no; no recibo; número do recibo; talão no; no talão; no do talão; número do
            talão; fatura simplificada no; fatura simplificada; no do recibo; documento no; cupom no; ticket no; no
            ticket; número de ticket; no de ticket; factura simplificada no; factura simplificada; recibo número;
            tique no; número de tique; operación no; ticket no; numéro de ticket; no de ticket; reçu no; no de reçu;
            numéro de reçu; no ticket; чек no; номер чека; no чека; кассовый чек no; товарный чек no; квитанция no;
            номер документа; no фд; фд no; фд; документ no
        """,
        "purchase_date": """
            purchased on; sold on; bought on; verkauf am; verkauft am; vendido em; vendido el; vendu le; acheté le;
            date of purchase; purchase date; date of sale; sale date; transaction date; date paid; date time; date and
            time; kaufdatum; datum uhrzeit; datum der zahlung; bondatum; belegdatum; data da compra; data e hora; data
            hora; data de compra; data de venda; fecha de compra; fecha y hora; fecha hora; fecha de venta; date
            dachat; date et heure; date heure; date de lachat; date de vente; дата покупки; дата и время; дата чека;
            дата продажи; дата расчета
        """,
        "net": """
            net amount; net total; net; total net; subtotal ex vat; total excl vat; total before tax; subtotal; sub
            total; nettobetrag; netto; summe netto; warenwert netto; zwischensumme; base tributável; total sem iva;
            valor líquido; total ilíquido; incidência; base imponible; total sin iva; base; importe neto; total ht;
            montant ht; total hors taxes; soustotal; sous total; сумма без ндс; итого без ндс; всего без ндс; подытог
        """,
        "total": """
            total; grand total; total due; amount due; total to pay; balance due; total amount; amount paid total;
            total incl vat; sale total; total sale; summe; gesamt; gesamtbetrag; gesamtsumme; zu zahlen; endbetrag;
            summe eur; total eur; bruttobetrag; endsumme; total a pagar; total com iva; valor total; valor a pagar;
            total da compra; montante total; total pago; total con iva; importe total; total compra; total factura;
            total ticket; total ttc; net à payer; total à payer; montant total; montant ttc; à payer; montant dû;
            итог; итого; итого к оплате; всего; к оплате; всего к оплате; сумма чека; итоговая сумма; сумма покупки;
            sum total; total gbp; total usd; total chf
        """,
        "paid": """
            visa debit; visa credit; mastercard debit; maestro; debit mastercard; cash; paid; tendered; cash tendered;
            amount tendered; cash paid; amount given; given; cash received; amount received; card; paid by card;
            credit card; debit card; visa; mastercard; contactless; card payment; bar; gegeben; bar gegeben; bargeld;
            erhalten; ec karte; eckarte; kartenzahlung; girocard; gegeben bar; karte; barzahlung; bar erhalten;
            entregue; numerário; dinheiro; pago; multibanco; cartão; valor entregue; recebido; cartão de débito;
            cartão de crédito; valor recebido; pago em numerário; entregado; efectivo; recibido; tarjeta; pagado; pago
            en efectivo; su entrega; entrega; importe entregado; tarjeta de crédito; espèces; reçu; carte bancaire;
            cb; payé; carte bleue; rendu sur; montant reçu; payé en espèces; versé; règlement; payé par carte;
            наличными; получено; оплачено; картой; безналичными; наличные; внесено; получено наличными; банковская
            карта; электронными; оплата картой; pagado con tarjeta; paid in cash; mit karte; pago com cartão
        """,
        "change": """
            change; change due; your change; change given; rückgeld; wechselgeld; zurück; rückgabe; restgeld; troco;
            cambio; su cambio; vuelta; devolución; a devolver; rendu; monnaie rendue; monnaie; à rendre; rendu
            monnaie; сдача; ваша сдача
        """,
        "merchant": """
            merchant; received by; händler; comerciante; comercio; establecimiento; commerçant; организация
        """,
        "discount": "discount; saving; savings; rabatt; desconto; descuento; remise; скидка",
    }
)
_WEAK = phrases_by_kind(
    {
        "receipt_number": """
            чек; talão; number; no; nr; doc; document; beleg; bon; ref; reference; n; номер; документ; documento
        """,
        "purchase_date": "date; datum; data; fecha; le; дата",
        "total": "amount; betrag; montant; importe; valor; сумма; montante",
    }
)
SHARED = {kind: STRONG[kind] for kind in ("vat_number", "email", "invoice_number")}
_STRONG |= {
    "receipt_number": (
        *_STRONG["receipt_number"],
        *numbered(
            """
                receipt; rcpt; order receipt; sale receipt; sales receipt; ticket; transaction; sale; bon; beleg;
            kassenbon; quittung; vorgang; recibo; talão; documento; operación; reçu; ticket de caisse; чек; чека;
            документ; документа; квитанция; квитанции; фд
            """
        ),
    ),
    "net": (*STRONG["net"], *_STRONG["net"], "soustotal ht", "sous total ht", "subtotal sin iva", "subtotal sem iva"),
    "total": (*STRONG["total"], *_STRONG["total"], "a pagar"),
    "phone": (*STRONG["phone"], "telef", "telf", "tlf", "tfno"),
}
RECEIPT = Vocabulary(titles_of(TITLES), Phrases((2, _STRONG), (1, _WEAK), (2, SHARED)), sender="merchant")
RECEIPT_COLUMNS = Phrases(
    (1, COLUMNS), (1, {"price": ("pu ttc", "pvp iva incl", "prix ttc"), "amount": ("montant ttc",)})
)
CHANGE = _STRONG["change"]
