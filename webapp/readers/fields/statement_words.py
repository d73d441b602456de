"""The words of bank statements in six languages."""

from webapp.readers.fields.labels import Phrases, Vocabulary, titles_of
from webapp.readers.fields.vocabulary import STRONG, numbered, phrases_by_kind
from webapp.readers.fields.words import folded_set

TITLES = phrases_by_kind(
    {
        "title": """
            bank statement; account statement; statement of account; statement of your account; your account
            statement; your statement; current account statement; statement; savings account statement; checking
            account statement; kontoauszug; girokontoauszug; girokontokontoauszug; kontoumsätze; rechnungsabschluss;
            extrato; extrato de conta; extrato bancário; extrato da conta; extrato de conta corrente; extrato
            integrado; extrato combinado; extracto; extracto bancario; extracto de cuenta; extracto de movimientos;
            extracto mensual; movimientos de cuenta; relevé de compte; relevé bancaire; relevé de compte bancaire;
            relevé de vos comptes; extrait de compte; relevé de votre compte; relevé mensuel; выписка; банковская
            выписка; выписка по счету; выписка по лицевому счету; выписка из лицевого счета; выписка по расчетному
            счету; выписка по банковскому счету; выписка о движении средств; monthly statement; monatsauszug; extracto
            de tarjeta; extrato mensal; выписка за период
        """,
    }
)["title"]

_STRONG = phrases_by_kind(
    {
        "statement_number": """
            statement number; statement no; statement nr; sheet number; auszugsnummer; auszug nr; auszugsnr;
            kontoauszug nr; kontoauszug nummer; auszug nummer; extrato no; número do extrato; nº do extrato; extrato
            número; no do extrato; extracto no; número de extracto; no de extracto; relevé no; numéro de relevé; no de
            relevé; numéro du relevé; relevé de compte no; выписка no; номер выписки; no выписки
        """,
        "statement_date": """
            statement date; date of statement; statement issued; date issued; issue date; issued on; auszugsdatum;
            datum des auszugs; erstellt am; ausgestellt am; data do extrato; data de emissão; emitido em; fecha del
            extracto; fecha de emisión; fecha extracto; emitido el; date du relevé; date de relevé; date démission;
            édité le; émis le; relevé édité le; arrêté au; дата выписки; дата формирования; выписка сформирована; дата
            составления; сформирована
        """,
        "period": """
            period; statement period; period covered; for the period; from; covering; zeitraum; abrechnungszeitraum;
            auszugszeitraum; buchungszeitraum; berichtszeitraum; für den zeitraum; vom; período; período do extrato;
            movimentos de; de; periodo; período del extracto; desde; période; période du; période du relevé; du; для
            периода; период; за период; с; за период с; dates covered; fechas; отчетный период; período de
        """,
        "opening_balance": """
            opening balance; balance brought forward; previous balance; starting balance; beginning balance; balance
            at start; start balance; balance at start of period; anfangssaldo; alter saldo; alter kontostand;
            saldovortrag; kontostand alt; startsaldo; eröffnungssaldo; alter saldo vom; kontostand am anfang; saldo
            inicial; saldo anterior; saldo de abertura; saldo inicial em; saldo de apertura; solde initial; ancien
            solde; solde précédent; solde douverture; solde antérieur; solde en début de période; solde créditeur au
            début; входящий остаток; остаток на начало; остаток на начало периода; начальный остаток; входящее сальдо;
            баланс на начало периода; сальдо на начало; balance bf; balance b f; solde de départ; saldo previo;
            остаток на начало
        """,
        "closing_balance": """
            closing balance; balance carried forward; new balance; ending balance; final balance; current balance;
            balance at end; end balance; balance at end of period; endsaldo; neuer saldo; neuer kontostand;
            schlusssaldo; kontostand neu; abschlusssaldo; kontostand am ende; neuer saldo vom; saldo final; saldo
            atual; saldo de fecho; saldo disponível final; saldo de encerramento; saldo actual; saldo de cierre; nuevo
            saldo; solde final; nouveau solde; solde de clôture; solde en fin de période; solde à la fin; исходящий
            остаток; остаток на конец; остаток на конец периода; конечный остаток; исходящее сальдо; баланс на конец
            периода; сальдо на конец; balance cf; balance c f; solde en fin de mois; saldo disponível; остаток на
            конец
        """,
        "credits": """
            total credits; money in; total paid in; total money in; payments in; total deposits; deposits; paid in;
            summe gutschriften; summe haben; gutschriften; gesamt haben; eingänge; summe der gutschriften; summe
            eingänge; zahlungseingänge; total de créditos; total créditos; créditos; entradas; total de entradas;
            total a crédito; abonos; total abonos; total haber; ingresos; total ingresos; total de abonos; total
            crédits; total des crédits; total crédit; crédits; total au crédit; сумма по кредиту; итого по кредиту;
            поступления; итого поступлений; обороты по кредиту; оборот по кредиту; всего поступлений; итого кредит;
            пополнения
        """,
        "debits": """
            total debits; money out; total paid out; total money out; payments out; total withdrawals; withdrawals;
            paid out; summe lastschriften; summe soll; belastungen; gesamt soll; ausgänge; summe der belastungen;
            summe belastungen; summe ausgänge; zahlungsausgänge; lastschriften; total de débitos; total débitos;
            débitos; saídas; total de saídas; total a débito; cargos; total cargos; total debe; gastos; total gastos;
            total de cargos; total débits; total des débits; total débit; débits; total au débit; сумма по дебету;
            итого по дебету; списания; итого списаний; обороты по дебету; оборот по дебету; расходы; всего списаний;
            итого дебет
        """,
        "account_holder": """
            account holder; account name; account owner; holder; name; in the name of; customer; kontoinhaber;
            inhaber; kontoinhaberin; kunde; titular; titular da conta; cliente; nome do titular; nome; titular de la
            cuenta; titulaire; titulaire du compte; client; владелец счета; владелец; клиент; наименование клиента;
            держатель счета; фио; фио клиента; customer name; account holder name; nombre del titular; nom du
            titulaire
        """,
        "bank": """
            bank; bank name; issued by; kreditinstitut; banco; entidad; entidad bancaria; banque; établissement; банк;
            наименование банка
        """,
        "iban": "iban; account iban; iban no; iban number; konto iban; código iban; numéro iban; iban konto",
        "bic": "bic; swift; bic swift; swift bic; bicswift; бик",
        "account_number": """
            account number; account no; account; a c no; kontonummer; konto nr; kontonr; konto; conta no; número da
            conta; no da conta; nº de conta; número de conta; conta; cuenta no; número de cuenta; no de cuenta;
            cuenta; numéro de compte; compte no; no de compte; no compte; compte; номер счета; счет no; счет; лицевой
            счет; no счета; расчетный счет; рс; расчетный счет no; лицевой счет no
        """,
        "currency": "currency; währung; moeda; moneda; devise; валюта; валюта счета",
    }
)
_WEAK = phrases_by_kind(
    {
        "statement_date": "date; datum; data; fecha; le; дата; as of; stand; на дату",
        "statement_number": """
            number; nummer; número; numéro; номер; statement; kontoauszug; auszug; extrato; extracto; relevé; выписка;
            bank statement; account statement; no; nr; relevé de compte; extrato bancário; extracto bancario; extrato
            de conta; sheet; blatt
        """,
        "opening_balance": "balance on; saldo em; saldo a; solde au; saldo al; остаток на; saldo vom",
    }
)
COLUMNS = phrases_by_kind(
    {
        "date": """
            jour; día; dia; tag; date; booking date; transaction date; posting date; posted; trans date; datum;
            buchungstag; buchungsdatum; buchung; bu tag; butag; data; data mov; data movimento; data do movimento;
            data lançamento; data mov; fecha; fecha operación; f operación; fecha oper; fecha contable; date
            opération; date de lopération; date dopération; date comptable; дата; дата операции; дата проводки; дата
            документа; data operação
        """,
        "value_date": """
            value date; value; wert; valuta; wertstellung; valutadatum; wertdatum; data valor; valor; data val;
            datavalor; valor data; fecha valor; f valor; date valeur; date de valeur; valeur; дата валютирования; дата
            обработки; data de valor
        """,
        "description": """
            umsatztext; description; details; transaction; transaction details; particulars; narrative; payee; payment
            details; payment type and details; text; verwendungszweck; buchungstext; vorgang; empfänger
            verwendungszweck; erläuterung; buchungsinformationen; auftraggeber empfänger; descrição; movimento;
            operação; histórico; descritivo; descrição do movimento; descripción; concepto; operación; movimiento;
            detalle; libellé; opération; nature de lopération; désignation; nature des opérations; détail; libellé de
            lopération; описание; назначение платежа; содержание операции; операция; описание операции; наименование
            операции; контрагент; основание
        """,
        "reference": """
            reference; ref; ref no; cheque no; referenz; belegnr; beleg; referência; referencia; référence; номер; no
            док; номер документа; no; tipo; type; art
        """,
        "debit": """
            abgang; au débit; a débito; al debe; debit; debits; withdrawals; withdrawal; paid out; money out;
            payments; out; debit amount; soll; lastschrift; belastung; lastschriften; belastungen; ausgang; débito;
            débitos; saída; saídas; debe; cargo; cargos; salidas; débit; débits; дебет; списание; расход; списано;
            расходы; сумма по дебету; sorties
        """,
        "credit": """
            zugang; au crédit; a crédito; al haber; credit; credits; deposits; deposit; paid in; money in; receipts;
            in; credit amount; haben; gutschrift; gutschriften; eingang; crédito; créditos; entrada; entradas; haber;
            abono; abonos; ingresos; crédit; crédits; кредит; зачисление; приход; поступление; зачислено; поступления;
            сумма по кредиту; entrées
        """,
        "amount": """
            amount; betrag; umsatz; betrag eur; montante; valor; quantia; importe; cantidad; montant; somme; сумма;
            сумма операции; сумма в валюте счета; betrag in eur; importância
        """,
        "balance": """
            balance; running balance; saldo; kontostand; saldo contabilístico; saldo disponível; solde; остаток;
            баланс; сальдо; остаток на счете; solde progressif; account balance
        """,
    }
)
_STRONG["statement_number"] += numbered(
    "statement; sheet; auszug; kontoauszug; extrato; extracto; relevé; extrait; выписка; выписки"
)
STATEMENT = Vocabulary(
    titles_of(TITLES),
    Phrases((2, _STRONG), (1, _WEAK), (2, {kind: STRONG[kind] for kind in ("email", "phone")})),
    sender="bank",
    recipient="account_holder",
)
STATEMENT_COLUMNS = Phrases((1, COLUMNS))
BANK_WORDS = folded_set(
    """
        bank banca banco bancos banque crédit credito crédito caixa caja sparkasse volksbank raiffeisenbank savings
        building bankverein банк сбербанк сберкасса bankhaus landesbank genossenschaftsbank kreditbank stadtbank
        handelsbank
    """
)
