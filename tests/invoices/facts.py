"""What an invoice says, by chance: parties, dates, lines, taxes. The labelled set knows the truth from here."""

import datetime as dt
import random
from dataclasses import dataclass, field
from decimal import Decimal

CENT = Decimal("0.01")
LANGUAGES = ("en", "de", "pt", "es", "fr", "ru")
RATES = {"en": (20, 5), "de": (19, 7), "pt": (23, 6), "es": (21, 10), "fr": (20, 10), "ru": (20, 10)}
CURRENCIES = {
    "en": ("GBP", "USD", "EUR"), "de": ("EUR", "EUR", "CHF"), "pt": ("EUR", "BRL"), "es": ("EUR",), "fr": ("EUR",), "ru": ("RUB",),
}  # fmt: skip
COUNTRIES = {"en": "GB", "de": "DE", "pt": "PT", "es": "ES", "fr": "FR", "ru": "RU"}
ACCOUNT_DIGITS = {"GB": 14, "DE": 18, "PT": 21, "ES": 20, "FR": 23, "CH": 17}
_NAMES = {
    "en": ("Brightwater Hosting Ltd", "Oakfield Joinery Limited", "Harbour Print & Copy LLC", "Northgate Supplies Inc", "Fenwick Marine Services"),
    "de": ("Lindner Werkzeugbau GmbH", "Nordlicht Energie AG", "Gärtnerei Sommer KG", "Möbelhaus Kranich GmbH & Co. KG", "Büro Süd GmbH"),
    "pt": ("Padaria do Porto Lda", "Construções Atlântico S.A.", "Serviços Alvorada Unipessoal Lda", "Gráfica Estrela Lda"),
    "es": ("Talleres Ebro S.L.", "Distribuciones Levante S.A.", "Imprenta Triana SL", "Electricidad Cantábrico S.L."),
    "fr": ("Menuiserie du Lac SARL", "Société Vallon SAS", "Imprimerie des Halles SA", "Électricité Bertrand EURL"),
    "ru": ("ООО «Северный Ветер»", "АО «Техпоставка»", "ООО «Линия света»", "ООО «Волга Сервис»"),
}  # fmt: skip
_STREETS = {
    "en": ("14 Mill Lane", "221 Station Road", "7 Quayside"),
    "de": ("Hafenstraße 12", "Am Markt 3", "Lindenweg 44"),
    "pt": ("Rua das Flores 18", "Avenida da Liberdade 201", "Travessa do Sol 5"),
    "es": ("Calle Mayor 22", "Avenida del Puerto 9", "Plaza Nueva 3"),
    "fr": ("12 rue des Lilas", "48 avenue Victor Hugo", "3 place du Marché"),
    "ru": ("ул. Садовая, д. 12", "пр. Мира, д. 101", "ул. Речная, д. 5"),
}
_CITIES = {
    "en": ("Bristol BS1 4TR", "Leeds LS2 8AA", "Denver, CO 80202"),
    "de": ("20457 Hamburg", "80331 München", "04109 Leipzig"),
    "pt": ("4050-262 Porto", "1250-142 Lisboa", "3000-150 Coimbra"),
    "es": ("28013 Madrid", "46024 Valencia", "41001 Sevilla"),
    "fr": ("75011 Paris", "69003 Lyon", "13002 Marseille"),
    "ru": ("190000, Санкт-Петербург", "129085, Москва", "443001, Самара"),
}
_THINGS = {
    "en": ("Web hosting, yearly", "Oak shelf 120 cm", "Site visit", "Printed leaflets A5", "Support hours", "Steel bolts M8", "Delivery", "Paint, white 10 l"),
    "de": ("Beratung vor Ort", "Stahlschrauben M8", "Wartung Heizung", "Druckerpapier A4", "Montage", "Holzplatte Eiche 2 m", "Versand", "Arbeitsstunden"),
    "pt": ("Consultoria técnica", "Parafusos de aço M8", "Impressão de folhetos", "Manutenção mensal", "Transporte", "Tinta branca 10 l"),
    "es": ("Asesoría técnica", "Tornillos de acero M8", "Impresión de folletos", "Mantenimiento mensual", "Transporte", "Pintura blanca 10 l"),
    "fr": ("Conseil technique", "Vis en acier M8", "Impression de dépliants", "Maintenance mensuelle", "Transport", "Peinture blanche 10 l"),
    "ru": ("Консультация", "Болты стальные М8", "Печать буклетов", "Обслуживание оборудования", "Доставка", "Краска белая 10 л"),
}  # fmt: skip
_UNITS = {"en": "pcs", "de": "Stk", "pt": "un", "es": "ud", "fr": "pce", "ru": "шт"}


@dataclass(frozen=True)
class Party:
    """A company of an invoice."""

    name: str
    street: str
    city: str
    vat: str
    email: str
    phone: str
    account: str


@dataclass(frozen=True)
class Item:
    """One line of an invoice."""

    code: str
    description: str
    quantity: Decimal
    unit: str
    price: Decimal
    rate: int

    @property
    def amount(self) -> Decimal:
        return (self.quantity * self.price).quantize(CENT)


@dataclass
class Invoice:
    """What an invoice says."""

    language: str
    number: str
    order: str
    customer_number: str
    date: dt.date
    due: dt.date
    seller: Party
    buyer: Party
    currency: str
    items: list[Item] = field(default_factory=list)

    @property
    def net(self) -> Decimal:
        return sum((item.amount for item in self.items), Decimal(0))

    @property
    def bases(self) -> dict[int, Decimal]:
        """The net amount of each rate."""
        found: dict[int, Decimal] = {}
        for item in self.items:
            found[item.rate] = found.get(item.rate, Decimal(0)) + item.amount
        return dict(sorted(found.items(), reverse=True))

    @property
    def taxes(self) -> dict[int, Decimal]:
        """The tax of each rate."""
        return {rate: (base * rate / 100).quantize(CENT) for rate, base in self.bases.items()}

    @property
    def total(self) -> Decimal:
        return self.net + sum(self.taxes.values())


def invoice(chance: random.Random, language: str, lines: tuple[int, int] = (2, 7)) -> Invoice:
    """Make up an invoice."""
    country = COUNTRIES[language]
    day = dt.date(2025, 1, 1) + dt.timedelta(chance.randrange(700))
    seller, buyer = chance.sample(_NAMES[language], 2)
    currency = chance.choice(CURRENCIES[language])
    rates = RATES[language] if chance.random() < 0.4 else RATES[language][:1]
    return Invoice(
        language=language,
        number=_number(chance, day),
        order=chance.choice(("PO-{}", "{}", "B{}/7")).format(chance.randrange(10_000, 99_999)),
        customer_number=str(chance.randrange(10_000, 99_999)),
        date=day,
        due=day + dt.timedelta(chance.choice((7, 10, 14, 30, 45))),
        seller=_party(chance, language, seller, "CH" if currency == "CHF" else country),
        buyer=_party(chance, language, buyer, country),
        currency=currency,
        items=[_item(chance, language, rates) for _ in range(chance.randint(*lines))],
    )


def iban(country: str, digits: str) -> str:
    """An account number with its check digits."""
    check = 98 - int("".join(str(int(each, 36)) for each in f"{digits}{country}00")) % 97
    return f"{country}{check:02d}{digits}"


def _number(chance: random.Random, day: dt.date) -> str:
    forms = (
        "INV-{year}-{n:04d}",
        "{year}/{n:03d}",
        "{n:06d}",
        "RE{year}{n:04d}",
        "F-{n:05d}",
        "{year}-{n:04d}",
        "A {n:05d}",
    )
    return chance.choice(forms).format(year=day.year, n=chance.randrange(1, 900) * 7)


def _party(chance: random.Random, language: str, name: str, country: str) -> Party:
    domain = chance.choice(("north", "lake", "field", "bridge", "stone")) + chance.choice(
        (".example", "-trade.example")
    )
    return Party(
        name=name,
        street=chance.choice(_STREETS[language]),
        city=chance.choice(_CITIES[language]),
        vat=_vat(chance, country),
        email=f"{chance.choice(('office', 'billing', 'info'))}@{domain}",
        phone=_phone(chance, country),
        account=_account(chance, country),
    )


def _vat(chance: random.Random, country: str) -> str:
    def digits(count: int) -> str:
        return "".join(str(chance.randrange(10)) for _ in range(count))

    forms = {
        "GB": "GB" + digits(9), "DE": "DE" + digits(9), "PT": "PT5" + digits(8), "ES": "ESB" + digits(8), "FR": "FR" + digits(11),
        "RU": "77" + digits(8), "CH": f"CHE-{digits(3)}.{digits(3)}.{digits(3)}",
    }  # fmt: skip
    return forms[country]


def _phone(chance: random.Random, country: str) -> str:
    code = {"GB": "44", "DE": "49", "PT": "351", "ES": "34", "FR": "33", "RU": "7", "CH": "41"}[country]
    return f"+{code} {chance.randrange(20, 99)} {chance.randrange(100, 999)} {chance.randrange(1000, 9999)}"


def _account(chance: random.Random, country: str) -> str:
    if country == "RU":
        return "40702810" + "".join(str(chance.randrange(10)) for _ in range(12))
    bank = "NWBK" if country == "GB" else ""
    return iban(country, bank + "".join(str(chance.randrange(10)) for _ in range(ACCOUNT_DIGITS[country])))


def _item(chance: random.Random, language: str, rates: tuple[int, ...]) -> Item:
    return Item(
        code=f"{chance.choice('ABK')}{chance.randrange(100, 999)}",
        description=chance.choice(_THINGS[language]),
        quantity=Decimal(chance.choice((1, 1, 2, 3, 5, 10, 12, 40))),
        unit=_UNITS[language],
        price=Decimal(chance.randrange(150, 250_000)) / 100
        if chance.random() < 0.9
        else Decimal(chance.randrange(5, 900)),
        rate=chance.choice(rates),
    )
