"""Names, streets and towns for made-up documents: one set to write the rules with, and another to measure them on."""

import random
from dataclasses import dataclass

from tests.invoices.facts import ACCOUNT_DIGITS, COUNTRIES, iban


@dataclass(frozen=True)
class Someone:
    """A person or a company with an address."""

    name: str
    street: str
    city: str
    phone: str
    email: str
    vat: str


def _split(texts: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {language: tuple(each.strip() for each in text.split("|")) for language, text in texts.items()}


COMPANIES = (
    _split({
        "en": "Oakfield Joinery Ltd | Harbour Print & Copy LLC | Northgate Supplies Inc | Fenwick Marine Services",
        "de": "Lindner Werkzeugbau GmbH | Nordlicht Energie AG | Gärtnerei Sommer KG | Büro Süd GmbH",
        "pt": "Padaria do Porto Lda | Construções Atlântico S.A. | Gráfica Estrela Lda | Alvorada Unipessoal Lda",
        "es": "Talleres Ebro S.L. | Distribuciones Levante S.A. | Imprenta Triana SL | Cantábrico S.L.",
        "fr": "Menuiserie du Lac SARL | Société Vallon SAS | Imprimerie des Halles SA | Bertrand EURL",
        "ru": "ООО «Северный Ветер» | АО «Техпоставка» | ООО «Линия света» | ООО «Волга Сервис»",
    }),
    _split({
        "en": "Pemberton Tools Limited | Blue Heron Coffee LLP | Castle & Moor Ltd | Riverside Dental Practice Ltd",
        "de": "Brunner Elektrotechnik GmbH & Co. KG | Hanse Logistik AG | Weinhof Adler e.K. | Stadtwerke Talheim GmbH",
        "pt": "Oficina Moderna Lda | Horizonte Azul S.A. | Vinhos da Serra Lda | Clínica Boa Vista Lda",
        "es": "Ferretería Aranda S.L. | Bodegas Río Claro S.A. | Clínica Miramar SLU | Jardines del Sur S.L.",
        "fr": "Boulangerie Morel SARL | Ateliers Dubreuil SAS | Garage Saint-Michel SARL | Transports Ferrand SA",
        "ru": "ООО «Зелёный Дом» | ПАО «Уралмаш Трейд» | ООО «Медея» | АО «Речной порт»",
    }),
)  # fmt: skip
PEOPLE = (
    _split({
        "en": "Emma Hartley | James Whitcombe | Olivia Marsh", "de": "Anna Bergmann | Lukas Vogt | Dr. Petra Kühn",
        "pt": "Ana Ferreira | João Carvalho | Marta Lopes", "es": "Lucía Navarro | Carlos Ibáñez | Elena Prieto",
        "fr": "Claire Fontaine | Julien Mercier | Sophie Lambert", "ru": "Анна Соколова | Иван Петров | Елена Орлова",
    }),
    _split({
        "en": "Gareth Pugh-Davies | Naomi Osei | Thomas Ellery", "de": "Sebastian Roth | Friederike von Stein | Mehmet Yilmaz",
        "pt": "Rui Vasconcelos | Beatriz Antunes | Pedro Sá", "es": "Íñigo Zabala | Rosa María Gil | Andrés Cuevas",
        "fr": "Amélie Roussel | Bastien Lefort | Nadège Petit", "ru": "Мария Кузнецова | Олег Дмитриев | Светлана Громова",
    }),
)  # fmt: skip
BANKS = (
    _split({
        "en": "Harbour Bank plc | First County Bank", "de": "Sparkasse Nordheim | Volksbank Elbtal eG", "pt": "Banco do Porto S.A. | Caixa Atlântica",
        "es": "Banco del Puerto S.A. | Caja Levante", "fr": "Banque du Lac | Crédit Régional du Sud", "ru": "АО «Портбанк» | ПАО «Северный Банк»",
    }),
    _split({
        "en": "Meridian Savings Bank | Old Mill Building Society Bank", "de": "Raiffeisenbank Oberland eG | Kreissparkasse Talheim",
        "pt": "Banco Lusitano S.A. | Caixa Central do Norte", "es": "Banca Sierra Norte | Banco Peninsular S.A.",
        "fr": "Banque Populaire de Loire | Crédit Maritime", "ru": "АО «Уральский Банк» | ПАО «Невабанк»",
    }),
)  # fmt: skip
_STREETS = (
    _split({
        "en": "14 Mill Lane | 221 Station Road", "de": "Hafenstraße 12 | Lindenweg 44", "pt": "Rua das Flores 18 | Avenida da Liberdade 201",
        "es": "Calle Mayor 22 | Plaza Nueva 3", "fr": "12 rue des Lilas | 48 avenue Victor Hugo", "ru": "ул. Садовая, д. 12 | пр. Мира, д. 101",
    }),
    _split({
        "en": "3 Orchard Close | 89 High Street", "de": "Bahnhofsplatz 7 | Schillerstr. 19a", "pt": "Largo do Carmo 4 | Rua 25 de Abril 77",
        "es": "Paseo de Gracia 61 | C/ Alcalá 140", "fr": "5 bis rue de la Gare | 27 quai Voltaire", "ru": "ул. Лесная, д. 8, кв. 14 | наб. реки Мойки, д. 3",
    }),
)  # fmt: skip
_CITIES = (
    _split({
        "en": "Bristol BS1 4TR | Leeds LS2 8AA", "de": "20457 Hamburg | 80331 München", "pt": "4050-262 Porto | 1250-142 Lisboa",
        "es": "28013 Madrid | 46024 Valencia", "fr": "75011 Paris | 69003 Lyon", "ru": "190000, Санкт-Петербург | 129085, Москва",
    }),
    _split({
        "en": "York YO1 7HH | Cardiff CF10 1EP", "de": "73230 Talheim | 04109 Leipzig", "pt": "3000-150 Coimbra | 8000-078 Faro",
        "es": "50001 Zaragoza | 41001 Sevilla", "fr": "44000 Nantes | 33000 Bordeaux", "ru": "620014, Екатеринбург | 443001, Самара",
    }),
)  # fmt: skip
_DIAL = {"en": "44", "de": "49", "pt": "351", "es": "34", "fr": "33", "ru": "7"}


@dataclass(frozen=True)
class Names:
    """The names that one document may use."""

    chance: random.Random
    language: str
    held_out: bool

    def pick(self, lists: tuple[dict[str, tuple[str, ...]], ...], count: int) -> list[str]:
        """So many different names of one of the lists."""
        return self.chance.sample(lists[self.held_out][self.language], count)

    def companies(self, count: int) -> list[Someone]:
        return [self.someone(name) for name in self.pick(COMPANIES, count)]

    def people(self, count: int) -> list[Someone]:
        return [self.someone(name) for name in self.pick(PEOPLE, count)]

    def someone(self, name: str) -> Someone:
        """An address for a name."""
        chance = self.chance
        phone = f"+{_DIAL[self.language]} {chance.randrange(20, 99)} {chance.randrange(100, 999)} {chance.randrange(1000, 9999)}"
        email = f"{chance.choice(('office', 'info', 'contact'))}@{chance.choice(('lake', 'stone', 'bridge'))}.example"
        return Someone(name, self.pick(_STREETS, 1)[0], self.pick(_CITIES, 1)[0], phone, email, self._vat())

    @property
    def town(self) -> str:
        """A town without its postcode."""
        words = self.pick(_CITIES, 1)[0].replace(",", "").split()
        return words[0] if self.language == "en" else " ".join(words[1:])

    def account(self) -> str:
        """An account with right check digits; Russian ones have none."""
        country = COUNTRIES[self.language]
        if country == "RU":
            return "40817810" + self.digits(12)
        return iban(country, ("NWBK" if country == "GB" else "") + self.digits(ACCOUNT_DIGITS[country]))

    def digits(self, count: int) -> str:
        return "".join(str(self.chance.randrange(10)) for _ in range(count))

    def _vat(self) -> str:
        forms = {
            "en": f"GB{self.digits(9)}",
            "de": f"DE{self.digits(9)}",
            "pt": f"5{self.digits(8)}",
            "es": f"B{self.digits(8)}",
            "fr": f"FR{self.digits(11)}",
            "ru": f"77{self.digits(8)}",
        }
        return forms[self.language]
