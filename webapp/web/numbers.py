"""Whole numbers that a request brings: bounded before they are converted."""

from webapp.web.errors import Problem

# More digits are no number that any page asks for, and converting thousands of them takes long.
DIGITS_MAX = 9


def whole_number(text: str, name: str, most: int) -> int:
    """The number from 1 to `most` that the text says; 400 for far too many digits, 422 for any other text."""
    if len(text) > DIGITS_MAX:
        raise Problem(400, detail=f"{name} has too many digits: it must be from 1 to {most}.")
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= most):
        raise Problem(422, detail=f"{name} must be from 1 to {most}.")
    return int(text)
