"""How receipts say it: labels in six languages, those to write the rules with and others."""

from tests.papers.made import labels_of

LABELS = {
    "en": labels_of("""
        title: RECEIPT / Receipt / Sales Receipt
        number: Receipt No. / Receipt # / Receipt number
        date: Date / Date of sale
        net: Net / Subtotal
        tax: VAT {rate}% / Incl. VAT {rate}%
        total: TOTAL / Total / Total to pay
        paid: Cash / Paid / Card
        change: Change / Change due
        vat: VAT No. / VAT Reg. No.
        phone: Tel. / Phone
        thing: Item / Description
        quantity: Qty
        price: Price / Unit price
        amount: Amount
        thanks: Thank you for shopping with us!
        cashier: Served by: Kim    Till 3
    """),
    "de": labels_of("""
        title: KASSENBON / Quittung / Kassenbeleg
        number: Bon-Nr. / Beleg-Nr. / Quittung Nr.
        date: Datum / Kaufdatum
        net: Netto / Nettobetrag
        tax: MwSt. {rate}% / inkl. {rate}% MwSt.
        total: SUMME / Gesamt / Gesamtbetrag
        paid: Bar / Gegeben / EC-Karte
        change: Rückgeld / Zurück
        vat: USt-IdNr. / UID
        phone: Tel. / Telefon
        thing: Artikel / Bezeichnung
        quantity: Menge
        price: Preis / Einzelpreis
        amount: Betrag
        thanks: Vielen Dank für Ihren Einkauf!
        cashier: Es bediente Sie: Kim    Kasse 3
    """),
    "pt": labels_of("""
        title: RECIBO / Talão de compra / Fatura simplificada
        number: Recibo n.º / N.º do recibo
        date: Data / Data da compra
        net: Valor líquido / Total sem IVA
        tax: IVA {rate}% / IVA ({rate}%)
        total: TOTAL / Total a pagar
        paid: Numerário / Entregue / Multibanco
        change: Troco
        vat: NIF / Contribuinte
        phone: Tel. / Telefone
        thing: Artigo / Descrição
        quantity: Qtd.
        price: Preço / Preço unit.
        amount: Valor
        thanks: Obrigado pela sua visita!
        cashier: Operador: Kim    Caixa 3
    """),
    "es": labels_of("""
        title: TICKET / Factura simplificada / Recibo
        number: Ticket n.º / N.º ticket
        date: Fecha / Fecha de compra
        net: Base imponible / Base
        tax: IVA {rate}% / IVA ({rate}%)
        total: TOTAL / Total a pagar
        paid: Efectivo / Entregado / Tarjeta
        change: Cambio
        vat: NIF / CIF
        phone: Tel. / Teléfono
        thing: Artículo / Descripción
        quantity: Cant.
        price: Precio / Precio unit.
        amount: Importe
        thanks: ¡Gracias por su visita!
        cashier: Le atendió: Kim    Caja 3
    """),
    "fr": labels_of("""
        title: TICKET DE CAISSE / Reçu / Ticket
        number: Ticket n° / N° ticket / Reçu n°
        date: Date / Date d'achat
        net: Total HT / Montant HT
        tax: TVA {rate}% / dont TVA {rate}%
        total: TOTAL / Total TTC / Net à payer
        paid: Espèces / Carte bancaire
        change: Rendu / Monnaie rendue
        vat: N° TVA / TVA intracom.
        phone: Tél. / Téléphone
        thing: Article / Désignation
        quantity: Qté
        price: Prix / Prix unitaire
        amount: Montant
        thanks: Merci de votre visite !
        cashier: Vendeur : Kim    Caisse 3
    """),
    "ru": labels_of("""
        title: КАССОВЫЙ ЧЕК / Товарный чек / Чек
        number: Чек № / Номер чека
        date: Дата / Дата покупки
        net: Сумма без НДС / Всего без НДС
        tax: НДС {rate}% / в т.ч. НДС {rate}%
        total: ИТОГ / ИТОГО / Итого к оплате
        paid: Наличными / Получено / Картой
        change: Сдача
        vat: ИНН
        phone: Тел. / Телефон
        thing: Товар / Наименование
        quantity: Кол-во
        price: Цена
        amount: Сумма
        thanks: Спасибо за покупку!
        cashier: Кассир: Ким    Касса 3
    """),
}
HELD_OUT_LABELS = {
    "en": labels_of("""
        title: Cash receipt / Till receipt / YOUR RECEIPT
        number: Transaction no. / Ticket no. / Sale receipt no.
        date: Purchased on / Transaction date / Date & time
        net: Total excl. VAT / Net total
        tax: VAT @ {rate}% / Sales tax {rate}%
        total: Amount due / Balance due / Grand total
        paid: Cash tendered / Contactless / Visa debit
        change: Change given / Your change
        vat: VAT number / VAT ID
        phone: Telephone / Phone
        thing: Product / Item
        quantity: Quantity / Qty
        price: Each / Price
        amount: Total / Amount
        thanks: Please retain this receipt as proof of purchase. Refunds within 28 days.
        cashier: Store 114    Register 02    Operator 9
    """),
    "de": labels_of("""
        title: Kassenzettel / Barverkauf / Kundenbeleg
        number: Belegnummer / Vorgangsnr. / Bonnummer
        date: Datum/Uhrzeit / Belegdatum / Verkauf am
        net: Summe netto / Nettosumme
        tax: {rate} % USt. / enthaltene MwSt. {rate} %
        total: Zu zahlen / Endbetrag / Summe EUR
        paid: Bar gegeben / Kartenzahlung / Girocard
        change: Wechselgeld / Rückgeld bar
        vat: Steuernummer / USt-ID
        phone: Fon / Tel
        thing: Produkt / Beschreibung
        quantity: Anzahl / Stück
        price: Einzel / E-Preis
        amount: Gesamt / Summe
        thanks: Umtausch nur mit diesem Beleg innerhalb von 14 Tagen.
        cashier: Filiale 114    Kasse 02    Bediener 9
    """),
    "pt": labels_of("""
        title: Talão de venda / Comprovativo de compra / Recibo de venda
        number: Talão n.º / Documento n.º / Nº recibo
        date: Data e hora / Data de venda / Data
        net: Base tributável / Incidência
        tax: IVA à taxa de {rate}% / Taxa IVA {rate}%
        total: Valor a pagar / Total com IVA / Montante total
        paid: Dinheiro / Valor entregue / Cartão de débito
        change: Troco
        vat: Contribuinte n.º / NIPC
        phone: Telef. / Telefone
        thing: Produto / Designação
        quantity: Quantidade / Qtd
        price: P. unitário / Preço unitário
        amount: Total / Importância
        thanks: Trocas até 30 dias com a apresentação deste talão.
        cashier: Loja 114    Posto 02    Empregado 9
    """),
    "es": labels_of("""
        title: Ticket de compra / Justificante de compra / Tique de compra
        number: Nº de ticket / Operación n.º / Documento
        date: Fecha y hora / Fecha de venta / Fecha
        net: Total sin IVA / Importe neto
        tax: Cuota IVA {rate}% / I.V.A. {rate} %
        total: Importe total / Total compra / A pagar
        paid: Su entrega / Pago en efectivo / Tarjeta de crédito
        change: Su cambio / A devolver
        vat: C.I.F. / N.I.F.
        phone: Telf. / Teléfono
        thing: Producto / Concepto
        quantity: Cantidad / Uds.
        price: P. unitario / Precio
        amount: Total / Importe
        thanks: Cambios y devoluciones en 15 días con este ticket.
        cashier: Tienda 114    Caja 02    Dependiente 9
    """),
    "fr": labels_of("""
        title: Ticket client / Justificatif de paiement / Reçu de paiement
        number: Numéro de ticket / Reçu numéro / Transaction n°
        date: Date et heure / Date de vente / Le
        net: Total hors taxes / Sous-total HT
        tax: TVA à {rate} % / Montant TVA {rate}%
        total: À payer / Montant total / Total à payer
        paid: Montant reçu / CB / Payé en espèces
        change: Rendu monnaie / À rendre
        vat: N° de TVA / TVA
        phone: Téléphone / Tél
        thing: Produit / Libellé
        quantity: Quantité / Qte
        price: PU / P.U. TTC
        amount: Total / Total TTC
        thanks: Échange sous 30 jours sur présentation du ticket.
        cashier: Magasin 114    Caisse 02    Hôte 9
    """),
    "ru": labels_of("""
        title: Квитанция / Копия чека / Электронный чек
        number: № чека / Документ № / ФД №
        date: Дата и время / Дата продажи / Дата расчета
        net: Итого без НДС / Подытог
        tax: Сумма НДС {rate}% / НДС ({rate}%)
        total: К оплате / Сумма чека / Всего к оплате
        paid: Получено наличными / Банковская карта / Безналичными
        change: Ваша сдача / Сдача
        vat: ИНН
        phone: Телефон / Тел
        thing: Услуга / Описание
        quantity: Количество / Кол-во
        price: Цена за ед. / Цена
        amount: Стоимость / Сумма
        thanks: Возврат товара в течение 14 дней при наличии чека.
        cashier: Магазин 114    Смена 02    Оператор 9
    """),
}
