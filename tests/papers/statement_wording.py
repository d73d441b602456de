"""How bank statements say it: labels in six languages, those to write the rules with and others."""

from tests.papers.made import labels_of

LABELS = {
    "en": labels_of("""
        title: Bank statement / Account statement / Statement of account
        number: Statement number / Statement no.
        date: Statement date / Date of statement
        period: Period / Statement period
        to: to / -
        opening: Opening balance / Balance brought forward
        closing: Closing balance / Balance carried forward
        in: Total credits / Money in
        out: Total debits / Money out
        holder: Account holder / Account name
        account: IBAN
        day: Date
        value: Value date
        text: Description / Details
        debit: Debit / Paid out
        credit: Credit / Paid in
        amount: Amount
        balance: Balance
    """),
    "de": labels_of("""
        title: Kontoauszug / Girokonto-Kontoauszug
        number: Auszug Nr. / Auszugsnummer
        date: Auszugsdatum / Erstellt am
        period: Zeitraum / Abrechnungszeitraum
        to: bis / -
        opening: Alter Saldo / Anfangssaldo / Alter Kontostand
        closing: Neuer Saldo / Endsaldo / Neuer Kontostand
        in: Summe Gutschriften / Summe Haben
        out: Summe Lastschriften / Summe Soll
        holder: Kontoinhaber
        account: IBAN
        day: Buchungstag / Datum
        value: Wert / Valuta
        text: Verwendungszweck / Buchungstext
        debit: Soll / Belastung
        credit: Haben / Gutschrift
        amount: Betrag
        balance: Saldo
    """),
    "pt": labels_of("""
        title: Extrato de conta / Extrato bancário
        number: Extrato n.º / N.º do extrato
        date: Data do extrato / Data de emissão
        period: Período
        to: a / até
        opening: Saldo inicial / Saldo anterior
        closing: Saldo final
        in: Total de créditos / Créditos
        out: Total de débitos / Débitos
        holder: Titular
        account: IBAN
        day: Data / Data mov.
        value: Data valor
        text: Descrição / Movimento
        debit: Débito
        credit: Crédito
        amount: Montante / Valor
        balance: Saldo
    """),
    "es": labels_of("""
        title: Extracto de cuenta / Extracto bancario
        number: Extracto n.º / Número de extracto
        date: Fecha del extracto / Fecha de emisión
        period: Período / Periodo
        to: a / al
        opening: Saldo inicial / Saldo anterior
        closing: Saldo final
        in: Total abonos / Abonos
        out: Total cargos / Cargos
        holder: Titular
        account: IBAN
        day: Fecha / F. operación
        value: Fecha valor
        text: Concepto / Descripción
        debit: Debe / Cargo
        credit: Haber / Abono
        amount: Importe
        balance: Saldo
    """),
    "fr": labels_of("""
        title: Relevé de compte / Relevé bancaire
        number: Relevé n° / N° de relevé
        date: Date du relevé / Édité le
        period: Période
        to: au / -
        opening: Solde initial / Ancien solde
        closing: Solde final / Nouveau solde
        in: Total crédits / Total des crédits
        out: Total débits / Total des débits
        holder: Titulaire
        account: IBAN
        day: Date / Date opération
        value: Date valeur / Valeur
        text: Libellé / Opération
        debit: Débit
        credit: Crédit
        amount: Montant
        balance: Solde
    """),
    "ru": labels_of("""
        title: Выписка по счёту / Банковская выписка
        number: Выписка № / Номер выписки
        date: Дата выписки / Дата формирования
        period: Период / За период
        to: - / по
        opening: Входящий остаток / Остаток на начало периода
        closing: Исходящий остаток / Остаток на конец периода
        in: Итого по кредиту / Поступления
        out: Итого по дебету / Списания
        holder: Владелец счёта / Клиент
        account: Номер счёта / Лицевой счёт
        day: Дата / Дата операции
        value: Дата валютирования
        text: Назначение платежа / Описание
        debit: Дебет / Списание
        credit: Кредит / Зачисление
        amount: Сумма
        balance: Остаток
    """),
}
HELD_OUT_LABELS = {
    "en": labels_of("""
        title: Current account statement / Your account statement
        number: Sheet number / Statement No
        date: Issued on / Issue date
        period: Period covered / For the period
        to: until / to
        opening: Previous balance / Starting balance
        closing: New balance / Ending balance
        in: Total paid in / Total deposits
        out: Total paid out / Total withdrawals
        holder: Name / Account owner
        account: Account IBAN / IBAN
        day: Booking date / Transaction date
        value: Value
        text: Transaction details / Particulars
        debit: Withdrawals / Money out
        credit: Deposits / Money in
        amount: Amount
        balance: Running balance / Balance
    """),
    "de": labels_of("""
        title: Kontoauszug / Kontoumsätze
        number: Kontoauszug Nr. / Auszug-Nr.
        date: Ausgestellt am / Datum des Auszugs
        period: Buchungszeitraum / Auszugszeitraum
        to: bis / bis zum
        opening: Saldovortrag / Kontostand alt
        closing: Schlusssaldo / Kontostand neu
        in: Zahlungseingänge / Summe Eingänge
        out: Zahlungsausgänge / Summe Ausgänge
        holder: Inhaber / Kontoinhaberin
        account: IBAN / Konto-IBAN
        day: Buchung / Buchungsdatum
        value: Wertstellung / Valuta
        text: Vorgang / Erläuterung
        debit: Lastschrift / Ausgang
        credit: Gutschrift / Eingang
        amount: Umsatz / Betrag
        balance: Kontostand / Saldo
    """),
    "pt": labels_of("""
        title: Extrato integrado / Extrato de conta corrente
        number: Extrato número / N.º extrato
        date: Emitido em / Data
        period: Período do extrato / Movimentos de
        to: até / a
        opening: Saldo de abertura / Saldo inicial em
        closing: Saldo de fecho / Saldo atual
        in: Total a crédito / Total de entradas
        out: Total a débito / Total de saídas
        holder: Titular da conta / Cliente
        account: IBAN
        day: Data movimento / Data lançamento
        value: Valor data / Data-valor
        text: Operação / Descritivo
        debit: Saídas / Débitos
        credit: Entradas / Créditos
        amount: Quantia / Importância
        balance: Saldo contabilístico / Saldo
    """),
    "es": labels_of("""
        title: Extracto de movimientos / Extracto mensual
        number: N.º de extracto / Extracto número
        date: Emitido el / Fecha
        period: Período del extracto / Desde
        to: hasta / hasta el
        opening: Saldo de apertura / Saldo anterior
        closing: Saldo de cierre / Nuevo saldo
        in: Total ingresos / Total haber
        out: Total gastos / Total debe
        holder: Titular de la cuenta / Cliente
        account: Código IBAN / IBAN
        day: Fecha operación / Fecha contable
        value: F. valor / Valor
        text: Movimiento / Operación
        debit: Salidas / Cargos
        credit: Ingresos / Entradas
        amount: Cantidad / Importe
        balance: Saldo
    """),
    "fr": labels_of("""
        title: Extrait de compte / Relevé de votre compte
        number: Numéro de relevé / Relevé numéro
        date: Émis le / Arrêté au
        period: Période du relevé / Du
        to: au
        opening: Solde précédent / Solde d'ouverture
        closing: Solde de clôture / Solde en fin de période
        in: Total au crédit / Crédits
        out: Total au débit / Débits
        holder: Titulaire du compte / Client
        account: IBAN
        day: Date comptable / Date d'opération
        value: Date de valeur / Valeur
        text: Nature de l'opération / Désignation
        debit: Débits / Sorties
        credit: Crédits / Entrées
        amount: Somme / Montant
        balance: Solde progressif / Solde
    """),
    "ru": labels_of("""
        title: Выписка по лицевому счёту / Выписка о движении средств
        number: № выписки / Выписка номер
        date: Сформирована / Дата составления
        period: С / Период выписки
        to: по
        opening: Входящее сальдо / Начальный остаток
        closing: Исходящее сальдо / Конечный остаток
        in: Обороты по кредиту / Всего поступлений
        out: Обороты по дебету / Всего списаний
        holder: Владелец / ФИО клиента
        account: Расчётный счёт / Счёт №
        day: Дата проводки / Дата документа
        value: Дата обработки / Дата валютирования
        text: Содержание операции / Основание
        debit: Расход / Списано
        credit: Приход / Зачислено
        amount: Сумма операции / Сумма
        balance: Сальдо / Остаток на счёте
    """),
}
