"""Orgs: the tenants."""

from uuid import UUID

from sqlalchemy import select

from webapp.accounts.model import Org
from webapp.db import session
from webapp.db.bounded import Count, up_to_most


def create(name: str) -> Org:
    """A new org; its name is unique."""
    org = Org(name=name)
    session().add(org)
    session().flush()
    return org


def get(org_id: UUID) -> Org | None:
    """The org with this id."""
    return session().get(Org, org_id)


def by_name(name: str) -> Org | None:
    """The org of this name."""
    return session().scalars(select(Org).where(Org.name == name)).one_or_none()


def everyone() -> list[Org]:
    """All orgs, the oldest first."""
    return list(session().scalars(select(Org).order_by(Org.created_at, Org.id)))


def number() -> Count:
    """How many orgs there are."""
    return Count.of(session().scalar(select(up_to_most(select(Org.id)))))


def named(name: str) -> tuple[Org, bool]:
    """The org of this name and whether it had to be made."""
    found = by_name(name)
    return (found, False) if found else (create(name), True)
