"""Bank statements."""

import datetime as dt
from decimal import Decimal
from html import escape

from tests.invoices.parts import grid, pairs
from tests.papers.made import Draft, Kind, sheet, table, two
from tests.papers.names import BANKS
from tests.papers.statement_wording import HELD_OUT_LABELS, LABELS

_PAYMENTS = (
    {
        "en": "Card payment Corner Shop | Standing order Rent | Salary May | Direct debit Energy | Refund 4711", "de": "Kartenzahlung Bäckerei | Dauerauftrag Miete | Gehalt Mai | Lastschrift Strom | Erstattung 4711",
        "pt": "Compra Mercearia | Ordem permanente Renda | Salário maio | Débito direto Luz | Reembolso 4711", "es": "Compra Panadería | Orden permanente Alquiler | Nómina mayo | Recibo Luz | Devolución 4711",
        "fr": "Achat Boulangerie | Virement permanent Loyer | Salaire mai | Prélèvement Énergie | Remboursement 4711", "ru": "Оплата картой Булочная | Перевод Аренда | Зарплата май | Оплата электричества | Возврат 4711",
    },
    {
        "en": "Transfer to P. Moor | Cash machine High Street | Insurance premium 88-12 | Interest paid", "de": "Überweisung P. Moor | Geldautomat Bahnhof | Versicherungsbeitrag 88-12 | Zinsen",
        "pt": "Transferência P. Moor | Levantamento Multibanco | Prémio de seguro 88-12 | Juros", "es": "Transferencia P. Moor | Cajero Gran Vía | Prima de seguro 88-12 | Intereses",
        "fr": "Virement P. Moor | Retrait Gare | Prime assurance 88-12 | Intérêts", "ru": "Перевод П. Мору | Снятие наличных | Страховой взнос 88-12 | Проценты",
    },
)  # fmt: skip


class StatementFacts:
    """What one statement says."""

    def __init__(self, draft: Draft) -> None:
        chance, self.draft = draft.chance, draft
        self.bank = draft.names.pick(BANKS, 1)[0]
        self.holder = (draft.names.people if chance.random() < 0.5 else draft.names.companies)(1)[0]
        self.account = draft.names.account()
        self.number = chance.choice(("{n}/2026", "{n}", "2026-{n:03d}")).format(n=chance.randrange(1, 99) + 100)
        self.start = dt.date(2025, 1, 1) + dt.timedelta(31 * chance.randrange(20))
        self.end = self.start + dt.timedelta(29)
        self.day = self.end + dt.timedelta(2)
        self.opening = Decimal(chance.randrange(20_000, 900_000)) / 100
        texts = _PAYMENTS[draft.held_out][draft.language].split(" | ")
        days = sorted(chance.randrange(29) for _ in range(chance.randint(3, 9)))
        self.moves = [
            (
                self.start + dt.timedelta(day),
                chance.choice(texts),
                Decimal(chance.choice((-1, -1, 1)) * chance.randrange(150, 90_000)) / 100,
            )
            for day in days
        ]
        self.paid_in = sum((each for *_, each in self.moves if each > 0), Decimal(0))
        self.paid_out = -sum((each for *_, each in self.moves if each < 0), Decimal(0))
        self.closing = self.opening + self.paid_in - self.paid_out

    def say(self, kinds: str) -> None:
        account = "account_number" if self.draft.language == "ru" else "iban"
        truth = {
            "bank": self.bank, "account_holder": self.holder.name, "statement_number": self.number, "statement_date": self.day.isoformat(),
            "period_start": self.start.isoformat(), "period_end": self.end.isoformat(), "opening_balance": f"{self.opening:.2f}",
            "closing_balance": f"{self.closing:.2f}", "credits": f"{self.paid_in:.2f}", "debits": f"{self.paid_out:.2f}", "currency": self.draft.currency, account: self.account,
        }  # fmt: skip
        for kind in kinds.split():
            name = account if kind == "account" else kind
            self.draft.say(name, truth[name])

    def table(self, *columns: str) -> None:
        self.draft.columns = columns
        for day, text, amount in self.moves:
            cells = {
                "date": day.isoformat(), "description": text, "amount": f"{amount:.2f}",
                "debit": f"{-amount:.2f}" if amount < 0 else "", "credit": f"{amount:.2f}" if amount > 0 else "",
            }  # fmt: skip
            self.draft.lines.append(tuple(cells[each] for each in columns))

    def rows_with_balance(self) -> list[list[str]]:
        """The transactions with money out and in in columns of their own, and the balance after each."""
        words, left, rows = self.draft.words, self.opening, []
        for day, text, amount in self.moves:
            left += amount
            out, into = (words.plain(-amount), "") if amount < 0 else ("", words.plain(amount))
            rows.append([words.date(day), escape(text), out, into, words.plain(left)])
        return rows

    @property
    def period(self) -> str:
        return f"{self.draft.words.date(self.start)} {self.draft['to']} {self.draft.words.date(self.end)}"

    @property
    def address(self) -> str:
        return f"<div>{escape(self.holder.name)}</div><div>{escape(self.holder.street)}</div><div>{escape(self.holder.city)}</div>"


def two_columns_of_money(draft: Draft) -> str:
    """Letterhead, address, a block at the right; money out and in in columns of their own, balances as rows of the table."""
    facts, words = StatementFacts(draft), draft.words
    facts.say(
        "bank account_holder statement_number statement_date period_start period_end opening_balance closing_balance account currency"
    )
    facts.table("date", "description", "debit", "credit")
    rows = [[words.date(facts.start), draft["opening"], "", "", words.money(facts.opening)]]
    rows += facts.rows_with_balance()
    rows.append([words.date(facts.end), draft["closing"], "", "", words.money(facts.closing)])
    meta = pairs(
        [
            (draft["number"], facts.number),
            (draft["date"], words.date(facts.day)),
            (draft["period"], facts.period),
            (draft["account"], words.account(facts.account)),
        ]
    )
    lines = table(
        [draft["day"], draft["text"], draft["debit"], draft["credit"], draft["balance"]],
        rows,
        "lined",
        frozenset({2, 3, 4}),
    )
    return sheet(
        f"<h2>{escape(facts.bank)}</h2><div class=row><div>{facts.address}</div>{meta}</div><h1>{draft['title']}</h1>{lines}",
        "td:first-child,th:first-child{white-space:nowrap}",
    )


def summary_above(draft: Draft) -> str:
    """The four sums in a row above the transactions, which have two dates and signed amounts."""
    facts, words = StatementFacts(draft), draft.words
    facts.say(
        "bank account_holder statement_number period_start period_end opening_balance closing_balance credits debits account currency"
    )
    facts.table("date", "description", "amount")
    sums = grid(
        [
            (draft["opening"], words.money(facts.opening)),
            (draft["in"], words.money(facts.paid_in)),
            (draft["out"], words.money(facts.paid_out)),
            (draft["closing"], words.money(facts.closing)),
        ]
    )
    rows = [[words.date(day), words.date(day), escape(text), words.plain(amount)] for day, text, amount in facts.moves]
    lines = table([draft["day"], draft["value"], draft["text"], draft["amount"]], rows, "zebra", frozenset({3}))
    meta = "".join(
        f"<div>{key}: {escape(value)}</div>"
        for key, value in (
            (draft["holder"], facts.holder.name),
            (draft["account"], words.account(facts.account)),
            (draft["number"], facts.number),
            (draft["period"], facts.period),
        )
    )
    return sheet(
        f"<div class=row><h1>{draft['title']}</h1><b>{escape(facts.bank)}</b></div>{meta}{sums}{lines}",
        "td:first-child,td:nth-child(2){white-space:nowrap}",
    )


def balances_around(draft: Draft) -> str:
    """The old balance above the transactions, the new one below, each with its date; signs behind the amounts."""
    facts, words = StatementFacts(draft), draft.words
    facts.say("bank account_holder statement_number statement_date opening_balance closing_balance account currency")
    facts.table("date", "description", "amount")
    rows = [
        [words.date(day), escape(text), f"{words.plain(abs(amount))}{'-' if amount < 0 else '+'}"]
        for day, text, amount in facts.moves
    ]
    lines = table([draft["day"], draft["text"], draft["amount"]], rows, "", frozenset({2}))
    head = f"<div>{escape(facts.bank)}</div><h2>{draft['title']}</h2>" + pairs(
        [
            (draft["number"], facts.number),
            (draft["date"], words.date(facts.day)),
            (draft["holder"], facts.holder.name),
            (draft["account"], words.account(facts.account)),
        ],
        colon=":",
    )
    before = two([(f"{draft['opening']} {words.date(facts.start)}", words.money(facts.opening))])
    after = two([(f"{draft['closing']} {words.date(facts.end)}", words.money(facts.closing))])
    return sheet(
        f"{head}<div style='width:100%'>{before}</div>{lines}{after}",
        "table{width:100%}.pairs{width:auto}td:first-child,th:first-child{white-space:nowrap}",
    )


def box_at_the_right(draft: Draft) -> str:
    """A box of sums at the right, descriptions in two lines, no rules."""
    facts, words = StatementFacts(draft), draft.words
    facts.say(
        "bank account_holder statement_number statement_date period_start period_end opening_balance closing_balance credits debits account currency"
    )
    facts.table("date", "description", "debit", "credit")
    box = pairs(
        [
            (draft["opening"], words.money(facts.opening)),
            (draft["in"], words.money(facts.paid_in)),
            (draft["out"], words.money(facts.paid_out)),
            (draft["closing"], words.money(facts.closing)),
        ],
        style="background:#eef",
    )
    rows = facts.rows_with_balance()
    for number in range(1, len(rows), 2):
        rows[number][1] += f"<br><span class=label>Ref {4000 + number}-X</span>"
    lines = table(
        [draft["day"], draft["text"], draft["debit"], draft["credit"], draft["balance"]], rows, "", frozenset({2, 3, 4})
    )
    meta = "".join(
        f"<div>{key}: {escape(value)}</div>"
        for key, value in (
            (draft["number"], facts.number),
            (draft["date"], words.date(facts.day)),
            (draft["account"], words.account(facts.account)),
        )
    )
    return sheet(
        f"<div style='text-align:right'><b>{escape(facts.bank)}</b></div><h1>{draft['title']}</h1><div>{draft['period']} {facts.period}</div><div class=row><div><div class=label>{draft['holder']}</div>{facts.address}</div>{box}</div>{meta}{lines}",
        "td:first-child,th:first-child{white-space:nowrap}",
    )


def ruled_cells(draft: Draft) -> str:
    """Everything in ruled cells, the sums as the last rows of the table, smaller type."""
    facts, words = StatementFacts(draft), draft.words
    facts.say(
        "bank account_holder statement_number period_start period_end opening_balance closing_balance account currency"
    )
    facts.table("date", "description", "amount")
    rows = [[words.date(day), words.date(day), escape(text), words.plain(amount)] for day, text, amount in facts.moves]
    rows.insert(0, [words.date(facts.start), "", draft["opening"], words.money(facts.opening)])
    rows.append([words.date(facts.end), "", draft["closing"], words.money(facts.closing)])
    lines = table([draft["day"], draft["value"], draft["text"], draft["amount"]], rows, "ruled", frozenset({3}))
    cells = "".join(
        f"<td><div class=label>{escape(key)}</div>{escape(value)}</td>"
        for key, value in (
            (draft["holder"], facts.holder.name),
            (draft["account"], words.account(facts.account)),
            (draft["number"], facts.number),
        )
    )
    return sheet(
        f"<h3>{escape(facts.bank)}</h3><h2>{draft['title']}</h2><table class=ruled><tr>{cells}</tr></table><p>{draft['period']} {facts.period}</p>{lines}",
        "body{font-size:9pt}td:first-child,th:first-child{white-space:nowrap}",
    )


STATEMENTS = Kind(
    "statement",
    (two_columns_of_money, summary_above, balances_around),
    (box_at_the_right, ruled_cells),
    LABELS,
    HELD_OUT_LABELS,
)
