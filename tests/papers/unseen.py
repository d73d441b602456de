"""A layout of each kind, and its wording, that were written when the rules were done: docs/quality.md has the first run."""

from html import escape

from tests.papers.contracts import ContractFacts
from tests.papers.letters import LetterFacts, address
from tests.papers.made import Draft, Kind, labels_of, sheet, slip, table
from tests.papers.names import Someone
from tests.papers.receipts import ReceiptFacts
from tests.papers.statements import StatementFacts


def _labels(texts: dict[str, str]) -> dict[str, dict[str, tuple[str, ...]]]:
    return {language: labels_of(text.replace(" ; ", "\n")) for language, text in texts.items()}


def receipt_in_lines(draft: Draft) -> str:
    """A slip of two lines for each thing, number and day in one line, the sum above what was paid in large letters."""
    facts, words = ReceiptFacts(draft), draft.words
    facts.say(
        "merchant", "receipt_number", "purchase_date", "total", "paid", "change", "currency", "vat_number", "phone"
    )
    facts.table("description", "amount")
    rows = "".join(
        f"<tr><td colspan=2>{escape(thing)}</td></tr><tr><td>&nbsp;{count} x {words.plain(price)}</td><td class=r>{words.plain(count * price)} B</td></tr>"
        for thing, count, price in facts.items
    )
    sums = f"<tr style='font-size:12pt'><td>{draft['total']}</td><td class=r>{words.money(facts.total)}</td></tr><tr><td>{draft['paid']}</td><td class=r>{words.money(facts.given)}</td></tr><tr><td>{draft['change']}</td><td class=r>{words.money(facts.given - facts.total)}</td></tr>"
    return slip(
        f"<b>{escape(facts.shop.name)}</b><div>{escape(facts.shop.street)}, {escape(facts.shop.city)}</div><div>{draft['phone']} {facts.shop.phone}</div><div>{draft['vat']} {facts.shop.vat}</div><h3>{draft['title']}</h3><table><tr><td>{draft['number']} {facts.number}</td><td class=r>{words.date(facts.day)}</td></tr></table><hr><table>{rows}{sums}</table><p>{draft['thanks']}</p>"
    )


def statement_with_heads(draft: Draft) -> str:
    """Labels above their values at the left, money in before money out, balances in lines of their own."""
    facts, words = StatementFacts(draft), draft.words
    facts.say(
        "bank account_holder statement_number period_start period_end opening_balance closing_balance account currency"
    )
    facts.table("date", "description", "credit", "debit")
    head = "".join(
        f"<div class=label>{key}</div><div>{escape(value)}</div>"
        for key, value in (
            (draft["holder"], facts.holder.name),
            (draft["account"], words.account(facts.account)),
            (draft["number"], facts.number),
            (draft["period"], facts.period),
        )
    )
    rows = [[day, text, into, out] for day, text, out, into, _ in facts.rows_with_balance()]
    lines = table([draft["day"], draft["text"], draft["credit"], draft["debit"]], rows, "lined", frozenset({2, 3}))
    return sheet(
        f"<center><b>{escape(facts.bank)}</b></center><h2>{draft['title']}</h2>{head}<p>{draft['opening']}: {words.money(facts.opening)}</p>{lines}<p>{draft['closing']}: {words.money(facts.closing)}</p>",
        "td:first-child,th:first-child{white-space:nowrap}",
    )


def contract_with_parts(draft: Draft) -> str:
    """The parties in a ruled table, dates and notice as rows of a second one."""
    facts, words = ContractFacts(draft), draft.words
    facts.say("party", "contract_number", "contract_date", "start_date", "end_date", "notice_period")

    def block(key: str, one: Someone) -> str:
        return f"<td><b>{draft[key]}:</b><br>{escape(one.name)}<br>{escape(one.street)}<br>{escape(one.city)}</td>"

    rows = (
        (draft["number"], facts.number),
        (draft["start"], words.date(facts.start)),
        (draft["end"], words.date(facts.end)),
        (draft["notice"], facts.notice),
    )
    terms = "".join(f"<tr><td>{key}</td><td>{escape(value)}</td></tr>" for key, value in rows)
    return sheet(
        f"<h1>{draft['title']}</h1><table class=ruled style='width:100%'><tr>{block('role', facts.first)}{block('role2', facts.second)}</tr></table><br><table class=ruled>{terms}</table><p>{draft['rest']}</p><p>{draft['rest']}</p><p>{draft['signed']} {words.date(facts.signed)}</p>"
    )


def letter_all_left(draft: Draft) -> str:
    """Everything at the left: the sender's address, the day, the recipient's address, the subject behind the salutation."""
    facts = LetterFacts(draft, private=True)
    facts.say("sender", "recipient", "letter_date", "subject", "phone")
    return sheet(
        f"{address(facts.sender)}<div>Tel. {facts.sender.phone}</div><br><div>{escape(draft.words.date(facts.day))}</div><br>{address(facts.recipient)}<br>{facts.body.format(subject='<p>' + draft['subject'] + ': ' + escape(draft['about']) + '</p>')}"
    )


RECEIPT_WORDS = _labels({
    "en": "title: Sales slip receipt / Receipt for your purchase ; number: Order receipt no. / Rcpt No. / Receipt: ; total: TOTAL DUE / Total GBP / Sum total ; paid: Amount tendered / Card payment ; change: Change ; vat: VAT Reg No / VAT ; phone: T: / Tel ; thanks: Have a nice day",
    "de": "title: Kassenbon / Bon ; number: Bon / Kassenbon-Nr. / Beleg ; total: Total / GESAMTSUMME / Summe ; paid: Gegeben Bar / Barzahlung / Visa ; change: Rückgeld / Wechselgeld ; vat: USt-IdNr. / UID-Nr. ; phone: Telefon / Tel. ; thanks: Auf Wiedersehen",
    "pt": "title: Talão / Cupom fiscal ; number: Talão nº / Recibo nº ; total: TOTAL A PAGAR / Valor total / Total ; paid: Pago em numerário / Recebido / Cartão ; change: Troco ; vat: NIF: / CNPJ ; phone: Tel: / Telefone ; thanks: Volte sempre",
    "es": "title: TICKET DE VENTA / Recibo de pago ; number: Nº recibo / Ticket ; total: TOTAL EUR / Total / Importe a pagar ; paid: Efectivo / Recibido / Pagado con tarjeta ; change: Vuelta / Cambio ; vat: NIF: / CIF: ; phone: Tel: / Tfno. ; thanks: Vuelva pronto",
    "fr": "title: Reçu client / Ticket d'achat ; number: Ticket / N° de reçu ; total: TOTAL À PAYER / Total EUR / Net à payer ; paid: Espèces / Carte bleue / Versé ; change: Monnaie / Rendu ; vat: TVA intracommunautaire / N° TVA ; phone: Tél. / Tel ; thanks: À bientôt",
    "ru": "title: Чек продажи / Фискальный чек ; number: Чек / № документа / Чек N ; total: ИТОГО / Итоговая сумма / ВСЕГО ; paid: Оплачено / Наличные / Внесено ; change: Сдача ; vat: ИНН ; phone: Тел. / Телефон ; thanks: Приходите ещё",
})  # fmt: skip
STATEMENT_WORDS = _labels({
    "en": "title: Savings account statement / Monthly statement ; number: Statement ref. / Statement ; period: Statement period / Dates covered ; to: to / – ; opening: Balance at start of period / Balance b/f ; closing: Balance at end of period / Balance c/f ; holder: Account holder / Customer name ; account: IBAN ; day: Date / Posting date ; text: Description / Narrative ; credit: Receipts / Credits ; debit: Payments / Debits",
    "de": "title: Kontoauszug / Monatsauszug ; number: Auszug / Kontoauszug-Nr. ; period: Berichtszeitraum / Zeitraum ; to: bis / – ; opening: Eröffnungssaldo / Alter Kontostand ; closing: Abschlusssaldo / Neuer Kontostand ; holder: Kontoinhaber / Kunde ; account: IBAN ; day: Datum / Buchungstag ; text: Text / Umsatztext ; credit: Gutschriften / Zugang ; debit: Lastschriften / Abgang",
    "pt": "title: Extrato mensal / Extrato combinado ; number: Número / Extrato nº ; period: Período / Período de ; to: a / até ; opening: Saldo anterior / Saldo inicial ; closing: Saldo final / Saldo disponível ; holder: Titular / Nome do titular ; account: IBAN ; day: Data / Data operação ; text: Histórico / Descrição ; credit: Crédito / A crédito ; debit: Débito / A débito",
    "es": "title: Extracto / Movimientos de cuenta ; number: Núm. extracto / Extracto ; period: Periodo / Fechas ; to: a / al ; opening: Saldo inicial / Saldo previo ; closing: Saldo final / Saldo actual ; holder: Titular / Nombre del titular ; account: IBAN ; day: Fecha / Día ; text: Detalle / Concepto ; credit: Abonos / Haber ; debit: Cargos / Debe",
    "fr": "title: Relevé mensuel / Extrait de compte ; number: N° du relevé / Relevé ; period: Période / Période du ; to: au / – ; opening: Solde antérieur / Solde de départ ; closing: Nouveau solde / Solde en fin de mois ; holder: Titulaire / Nom du titulaire ; account: IBAN ; day: Date / Jour ; text: Détail / Libellé ; credit: Crédit / Au crédit ; debit: Débit / Au débit",
    "ru": "title: Выписка / Выписка из лицевого счёта ; number: № / Номер ; period: Период / Отчётный период ; to: – / по ; opening: Остаток на начало / Сальдо на начало ; closing: Остаток на конец / Сальдо на конец ; holder: Клиент / Держатель счёта ; account: Номер счёта ; day: Дата / Дата операции ; text: Операция / Описание операции ; credit: Поступление / Поступления ; debit: Списание / Расходы",
})  # fmt: skip
_REST = "rest: This page holds what was agreed, and nothing else was agreed between the parties of it. ; between: {a} {b} ; begins: {day} ; ends: {day} ; leaves: {notice}"
CONTRACT_WORDS = _labels({
    "en": "title: Licence Agreement / Rental Contract ; number: Contract no / Agreement ID ; signed: Signed on / Date of contract: ; start: Start of contract / Begin date ; end: End of contract / Valid to ; notice: Notice required / Notice period ; role: Licensor / Party A ; role2: Licensee / Party B ; three: 3 months / 12 weeks ; one: four weeks ; " + _REST,
    "de": "title: Lizenzvertrag / Pachtvertrag ; number: Vertrag / Vertragsnummer ; signed: Unterzeichnet am / Datum: ; start: Beginn des Vertrags / Startdatum ; end: Ende des Vertrags / Enddatum ; notice: Kündigungsfrist ; role: Lizenzgeber / Partei A ; role2: Lizenznehmer / Partei B ; three: 3 Monate ; one: vier Wochen ; " + _REST,
    "pt": "title: Contrato de licença / Contrato de locação ; number: Contrato nº / Ref. do contrato ; signed: Assinado em / Data: ; start: Início / Válido desde ; end: Termo / Válido até ; notice: Aviso prévio / Pré-aviso ; role: Locador / Primeiro outorgante ; role2: Locatário / Segundo outorgante ; three: 3 meses ; one: 30 dias ; " + _REST,
    "es": "title: Contrato de licencia / Contrato de alquiler ; number: Contrato nº / Nº de contrato ; signed: Firmado el / Fecha: ; start: Comienzo / Fecha de inicio ; end: Término / Fecha de fin ; notice: Aviso previo / Preaviso ; role: Arrendador / Primera parte ; role2: Arrendatario / Segunda parte ; three: 3 meses ; one: 30 días ; " + _REST,
    "fr": "title: Contrat de licence / Contrat de location ; number: Contrat n° / Réf. contrat ; signed: Fait le / Date : ; start: Début / Date de commencement ; end: Fin / Date d'échéance ; notice: Préavis / Durée du préavis ; role: Bailleur / Société ; role2: Preneur / Prestataire ; three: 3 mois ; one: 30 jours ; " + _REST,
    "ru": "title: Лицензионный договор / Договор подряда ; number: Договор № / Номер ; signed: Подписан / Дата: ; start: Дата начала / Начало работ ; end: Дата окончания / Окончание работ ; notice: Срок уведомления / Уведомление за ; role: Лицензиар / Сторона 1 ; role2: Лицензиат / Сторона 2 ; three: 3 месяца ; one: 30 дней ; " + _REST,
})  # fmt: skip
LETTER_WORDS = _labels({
    "en": "subject: Re / Subject ; about: Application for the post of gardener / Lost parcel of last week ; dear: Dear Sirs, / Dear Mrs Brown, ; closing: Yours truly, / With kind regards, ; text: please find my papers with this letter. I look forward to hearing from you soon.",
    "de": "subject: Betreff / Betrifft ; about: Bewerbung als Gärtner / Verlorenes Paket ; dear: Sehr geehrte Frau Braun, / Liebe Frau Braun, ; closing: Mit freundlichem Gruß / Herzliche Grüße ; text: anbei finden Sie meine Unterlagen. Ich freue mich auf Ihre Antwort.",
    "pt": "subject: Assunto ; about: Candidatura a jardineiro / Encomenda perdida ; dear: Exma. Senhora, / Prezados Senhores, ; closing: Cumprimentos, / Com estima, ; text: junto envio os meus documentos. Fico a aguardar a sua resposta.",
    "es": "subject: Asunto ; about: Solicitud de empleo / Paquete perdido ; dear: Estimados señores: / Querida Rosa: ; closing: Saludos, / Muy atentamente, ; text: adjunto le envío mis documentos. Quedo a la espera de su respuesta.",
    "fr": "subject: Objet / OBJET ; about: Candidature au poste de jardinier / Colis perdu ; dear: Madame, / Monsieur le Directeur, ; closing: Sincères salutations, / Bien à vous, ; text: vous trouverez ci-joint mes documents. Dans l'espoir de vous lire bientôt.",
    "ru": "subject: Тема ; about: Заявление о приёме на работу / Потерянная посылка ; dear: Уважаемые господа! / Здравствуйте, Мария Ивановна! ; closing: С искренним уважением, / С уважением, ; text: направляю Вам мои документы. Жду Вашего ответа.",
})  # fmt: skip
UNSEEN = (
    Kind("receipt", (), (receipt_in_lines,), {}, RECEIPT_WORDS),
    Kind("statement", (), (statement_with_heads,), {}, STATEMENT_WORDS),
    Kind("contract", (), (contract_with_parts,), {}, CONTRACT_WORDS, has_money=False),
    Kind("letter", (), (letter_all_left,), {}, LETTER_WORDS, has_money=False),
)
