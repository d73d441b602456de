"""Passwords: what is stored, what is accepted, what it costs."""

import pytest
from argon2 import PasswordHasher

from webapp.accounts import passwords


def test_a_stored_password_is_argon2id_and_never_the_same_twice() -> None:
    first, second = passwords.hash_password("a sentence is good"), passwords.hash_password("a sentence is good")
    assert first.startswith("$argon2id$")
    assert first != second
    assert passwords.verify(first, "a sentence is good")
    assert not passwords.verify(first, "another sentence")


def test_nobody_and_damaged_hashes_never_fit() -> None:
    assert not passwords.verify(None, "nobody signs in with this")
    assert not passwords.verify("not a hash", "anything at all")


def test_the_work_for_nobody_is_the_work_for_somebody() -> None:
    nobody = passwords._nobody()
    assert not passwords.needs_rehash(nobody)
    assert nobody.split("$")[1:4] == passwords.hash_password("a sentence is good").split("$")[1:4]


def test_a_hash_with_other_parameters_is_renewed() -> None:
    old = PasswordHasher(time_cost=1, memory_cost=8192).hash("a sentence is good")
    assert passwords.needs_rehash(old)
    assert passwords.verify(old, "a sentence is good")


@pytest.mark.parametrize(
    ("password", "fits"), [("short", False), ("just long enough", True), ("x" * 1024, True), ("x" * 1025, False)]
)
def test_length_is_all_that_is_asked(password: str, fits: bool) -> None:
    assert passwords.is_acceptable(password) is fits


def test_an_endless_password_costs_nothing() -> None:
    assert not passwords.verify(passwords.hash_password("a sentence is good"), "x" * 10_000_000)


def test_the_same_letter_from_another_keyboard_fits() -> None:
    stored = passwords.hash_password("caf\u00e9 au lait")
    assert passwords.verify(stored, "cafe\u0301 au lait")


def test_what_is_no_letter_does_no_harm() -> None:
    assert not passwords.verify(passwords.hash_password("a sentence is good"), "\udcff\udcfe 0123456789")
