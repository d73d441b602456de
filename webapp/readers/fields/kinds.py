"""Kinds of documents that are recognised by their fields."""

KIND_BY_FIELD = {
    "purchase_date": "receipt",
    "opening_balance": "bank_statement",
    "closing_balance": "bank_statement",
    "party": "contract",
    "letter_date": "letter",
    "total": "invoice",
}
"""Of each kind the field that all of its documents have, and no others. A total makes an invoice of what is no
receipt.
"""
