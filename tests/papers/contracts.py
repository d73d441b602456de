"""Contracts: parties, when they begin and end, and how much notice it takes."""

import datetime as dt
from html import escape

from tests.invoices.parts import pairs
from tests.papers.made import Draft, Kind, labels_of, sheet
from tests.papers.names import Someone

LABELS = {
    "en": labels_of("""
        title: Service Agreement / Lease Agreement / EMPLOYMENT CONTRACT
        number: Contract number / Agreement No.
        signed: Contract date / Date of agreement
        start: Start date / Commencement date
        end: End date / Expiry date
        notice: Notice period
        role: Client / Landlord / Employer
        role2: Contractor / Tenant / Employee
        between: This agreement is made between {a} (hereinafter the "Client") and {b} (hereinafter the "Contractor").
        begins: This agreement commences on {day}.
        ends: It ends on {day} without the need for notice.
        leaves: Either party may terminate it by giving {notice} notice in writing.
        three: three months
        one: 30 days
        rest: The contractor performs the services with due care. Payment is due within 14 days after each invoice. The parties keep secret what they learn of each other.
        and: and
        open: between
    """),
    "de": labels_of("""
        title: Dienstleistungsvertrag / Mietvertrag / Arbeitsvertrag
        number: Vertragsnummer / Vertrag Nr.
        signed: Vertragsdatum / Datum des Vertrags
        start: Vertragsbeginn / Beginn
        end: Vertragsende / Ende
        notice: Kündigungsfrist
        role: Auftraggeber / Vermieter / Arbeitgeber
        role2: Auftragnehmer / Mieter / Arbeitnehmer
        between: Dieser Vertrag wird geschlossen zwischen {a} (nachfolgend „Auftraggeber“) und {b} (nachfolgend „Auftragnehmer“).
        begins: Der Vertrag beginnt am {day}.
        ends: Er endet am {day}, ohne dass es einer Kündigung bedarf.
        leaves: Jede Partei kann ihn mit einer Frist von {notice} schriftlich kündigen.
        three: drei Monaten
        one: 30 Tagen
        rest: Der Auftragnehmer erbringt die Leistungen mit Sorgfalt. Rechnungen sind innerhalb von 14 Tagen zu zahlen. Die Parteien halten geheim, was sie voneinander erfahren.
        and: und
        open: zwischen
    """),
    "pt": labels_of("""
        title: Contrato de prestação de serviços / Contrato de arrendamento / CONTRATO DE TRABALHO
        number: Contrato n.º / Número do contrato
        signed: Data do contrato / Data de assinatura
        start: Data de início / Início
        end: Data de termo / Fim
        notice: Aviso prévio / Pré-aviso
        role: Cliente / Senhorio / Empregador
        role2: Prestador / Arrendatário / Trabalhador
        between: O presente contrato é celebrado entre {a} (doravante «Cliente») e {b} (doravante «Prestador»).
        begins: O contrato entra em vigor em {day}.
        ends: O contrato termina em {day}, sem necessidade de denúncia.
        leaves: Qualquer das partes pode denunciá-lo com uma antecedência mínima de {notice}.
        three: três meses
        one: 30 dias
        rest: O prestador executa os serviços com diligência. As faturas são pagas no prazo acordado. As partes guardam segredo do que souberem uma da outra.
        and: e
        open: entre
    """),
    "es": labels_of("""
        title: Contrato de prestación de servicios / Contrato de arrendamiento / CONTRATO DE TRABAJO
        number: Contrato n.º / Número de contrato
        signed: Fecha del contrato / Fecha de firma
        start: Fecha de inicio / Inicio
        end: Fecha de fin / Fin
        notice: Preaviso / Plazo de preaviso
        role: Cliente / Arrendador / Empresa
        role2: Proveedor / Arrendatario / Trabajador
        between: El presente contrato se celebra entre {a} (en adelante, el «Cliente») y {b} (en adelante, el «Proveedor»).
        begins: El contrato entra en vigor el {day}.
        ends: El contrato finaliza el {day} sin necesidad de aviso.
        leaves: Cualquiera de las partes puede resolverlo con una antelación mínima de {notice}.
        three: tres meses
        one: 30 días
        rest: El proveedor presta los servicios con diligencia. Las facturas se pagan en el plazo acordado. Las partes guardan secreto de lo que sepan la una de la otra.
        and: y
        open: entre
    """),
    "fr": labels_of("""
        title: Contrat de prestation de services / Contrat de bail / CONTRAT DE TRAVAIL
        number: Contrat n° / Numéro de contrat
        signed: Date du contrat / Date de signature
        start: Date de début / Date d'effet
        end: Date de fin / Fin du contrat
        notice: Préavis / Délai de préavis
        role: Client / Bailleur / Employeur
        role2: Prestataire / Locataire / Salarié
        between: Le présent contrat est conclu entre {a} (ci-après le « Client ») et {b} (ci-après le « Prestataire »).
        begins: Le contrat prend effet le {day}.
        ends: Il prend fin le {day} sans qu'un préavis soit nécessaire.
        leaves: Chaque partie peut le résilier moyennant un préavis de {notice}.
        three: trois mois
        one: 30 jours
        rest: Le prestataire exécute les services avec soin. Les factures sont payées dans le délai convenu. Les parties gardent secret ce qu'elles apprennent l'une de l'autre.
        and: et
        open: entre
    """),
    "ru": labels_of("""
        title: Договор оказания услуг / Договор аренды / ТРУДОВОЙ ДОГОВОР
        number: Договор № / Номер договора
        signed: Дата договора / Дата заключения
        start: Дата начала / Начало действия
        end: Дата окончания / Окончание действия
        notice: Срок уведомления
        role: Заказчик / Арендодатель / Работодатель
        role2: Исполнитель / Арендатор / Работник
        between: {a}, именуемое в дальнейшем «Заказчик», с одной стороны, и {b}, именуемое в дальнейшем «Исполнитель», с другой стороны, заключили настоящий договор.
        begins: Договор вступает в силу с {day}.
        ends: Договор действует до {day}.
        leaves: Каждая сторона может расторгнуть договор, уведомив другую сторону не менее чем за {notice}.
        three: три месяца
        one: 30 дней
        rest: Исполнитель оказывает услуги надлежащим образом. Счета оплачиваются в согласованный срок. Стороны хранят в тайне сведения друг о друге.
        and: и
        open: между
    """),
}
HELD_OUT_LABELS = {
    "en": labels_of("""
        title: Consulting Agreement / Maintenance Contract / Tenancy Agreement
        number: Agreement number / Contract ref.
        signed: Dated / Agreement date
        start: Effective date / Valid from
        end: Termination date / Valid until
        notice: Period of notice / Notice
        role: Customer / Lessor / Buyer
        role2: Provider / Lessee / Supplier
        between: This contract is entered into by and between {a}, a company registered in England ("the Customer"), and {b}, whose office is in Leeds ("the Provider").
        begins: The services start with effect from {day}.
        ends: The contract shall remain in force until {day}, unless renewed in writing.
        leaves: Either side may end it at any time upon not less than {notice} written notice.
        three: six (6) months'
        one: ninety (90) days'
        rest: The provider answers within two working days. The fee is reviewed once a year. Changes to this contract need to be in writing and signed by both sides.
        and: and
        open: BETWEEN
    """),
    "de": labels_of("""
        title: Beratungsvertrag / Wartungsvertrag / Kaufvertrag / Rahmenvereinbarung
        number: Vertrags-Nr. / Vertragsnr.
        signed: Geschlossen am / Vertrag vom
        start: Laufzeitbeginn / Gültig ab
        end: Laufzeitende / Gültig bis
        notice: Kündigungsfrist / Frist
        role: Kunde / Verpächter / Käufer
        role2: Anbieter / Pächter / Lieferant
        between: Zwischen {a}, vertreten durch die Geschäftsführung – im Folgenden Kunde genannt –, und {b}, ebenda ansässig – im Folgenden Anbieter genannt –, wird Folgendes vereinbart.
        begins: Die Vereinbarung tritt am {day} in Kraft.
        ends: Die Vereinbarung ist befristet bis zum {day} und verlängert sich nicht.
        leaves: Sie ist unter Einhaltung einer Kündigungsfrist von {notice} zum Monatsende kündbar.
        three: sechs Monaten
        one: 6 Wochen
        rest: Der Anbieter antwortet innerhalb von zwei Werktagen. Das Entgelt wird einmal im Jahr überprüft. Änderungen bedürfen der Schriftform und der Unterschrift beider Seiten.
        and: und
        open: Zwischen
    """),
    "pt": labels_of("""
        title: Contrato de consultoria / Contrato de manutenção / Acordo de fornecimento
        number: N.º do contrato / Contrato número
        signed: Celebrado em / Data de celebração
        start: Início da vigência / Início do contrato
        end: Fim da vigência / Fim do contrato
        notice: Prazo de pré-aviso / Antecedência
        role: Contratante / Locador / Comprador
        role2: Contratada / Locatário / Fornecedor
        between: Entre {a}, com sede na morada acima, adiante designada Contratante, e {b}, com sede em Lisboa, adiante designada Contratada, é celebrado o seguinte contrato.
        begins: Os serviços têm início com efeitos a partir de {day}.
        ends: O presente acordo vigora até {day} e não se renova.
        leaves: Pode ser denunciado por escrito com aviso prévio de {notice} por qualquer das partes.
        three: seis meses
        one: 90 (noventa) dias
        rest: A contratada responde no espaço de dois dias úteis. O preço é revisto uma vez por ano. As alterações fazem-se por escrito e são assinadas por ambas as partes.
        and: e
        open: ENTRE
    """),
    "es": labels_of("""
        title: Contrato de consultoría / Contrato de mantenimiento / Acuerdo de suministro
        number: N.º de contrato / Ref. contrato
        signed: Firmado el / Fecha de celebración
        start: Fecha de comienzo / Inicio del contrato
        end: Fecha de finalización / Fecha de terminación
        notice: Período de preaviso / Antelación
        role: Contratante / Propietario / Comprador
        role2: Prestador / Inquilino / Vendedor
        between: Entre {a}, con domicilio en la dirección indicada, en lo sucesivo la Contratante, y {b}, con domicilio en Madrid, en lo sucesivo el Prestador, se acuerda lo siguiente.
        begins: Los servicios se prestan con efectos desde el {day}.
        ends: El presente acuerdo estará vigente hasta el {day} y no se prorroga.
        leaves: Puede resolverse por escrito con un preaviso de {notice} por cualquiera de las partes.
        three: seis meses
        one: noventa (90) días
        rest: El prestador responde en dos días hábiles. El precio se revisa una vez al año. Los cambios se hacen por escrito y los firman ambas partes.
        and: y
        open: ENTRE
    """),
    "fr": labels_of("""
        title: Contrat de conseil / Contrat de maintenance / Convention de partenariat
        number: N° de contrat / Référence du contrat
        signed: Conclu le / Signé le
        start: Prise d'effet / Début du contrat
        end: Échéance / Terme
        notice: Délai de préavis / Préavis
        role: Donneur d'ordre / Preneur / Acheteur
        role2: Fournisseur / Société / Vendeur
        between: Entre les soussignés : {a}, dont le siège est indiqué ci-dessus, ci-après dénommée le Client, et {b}, dont le siège est à Lyon, ci-après dénommée le Prestataire, il a été convenu ce qui suit.
        begins: Les prestations débutent à compter du {day}.
        ends: La convention expire le {day} et n'est pas reconduite.
        leaves: Elle peut être résiliée par écrit sous réserve d'un préavis de {notice} par chacune des parties.
        three: six mois
        one: quatre-vingt-dix (90) jours
        rest: Le prestataire répond dans les deux jours ouvrables. Le prix est revu une fois par an. Toute modification se fait par écrit et est signée par les deux parties.
        and: et
        open: ENTRE
    """),
    "ru": labels_of("""
        title: Договор консультационных услуг / Договор поставки / Соглашение о сотрудничестве
        number: № договора / Договор номер
        signed: Дата подписания / Заключён
        start: Дата вступления в силу / Начало
        end: Дата прекращения / Окончание
        notice: Срок предупреждения / Срок расторжения
        role: Покупатель / Наймодатель / Клиент
        role2: Поставщик / Наниматель / Подрядчик
        between: {a}, в лице директора, действующего на основании устава, именуемое далее «Клиент», и {b}, в лице директора, именуемое далее «Подрядчик», заключили договор о нижеследующем.
        begins: Услуги оказываются начиная с {day}.
        ends: Срок действия договора истекает {day}.
        leaves: Любая из сторон вправе отказаться от договора, предупредив за {notice} в письменной форме.
        three: шесть месяцев
        one: 90 (девяносто) дней
        rest: Подрядчик отвечает в течение двух рабочих дней. Цена пересматривается раз в год. Изменения оформляются письменно и подписываются обеими сторонами.
        and: и
        open: МЕЖДУ
    """),
}
DURATIONS = {
    notice: code
    for code, notices in {
        "P3M": "three months/drei Monaten/três meses/tres meses/trois mois/три месяца/3 months/3 Monate/3 meses/3 mois/3 месяца",
        "P6M": "six (6) months'/sechs Monaten/seis meses/six mois/шесть месяцев",
        "P30D": "30 days/30 Tagen/30 dias/30 días/30 jours/30 дней",
        "P90D": "ninety (90) days'/90 (noventa) dias/noventa (90) días/quatre-vingt-dix (90) jours/90 (девяносто) дней",
        "P6W": "6 Wochen",
        "P4W": "four weeks/vier Wochen",
        "P12W": "12 weeks",
    }.items()
    for notice in notices.split("/")
}


class ContractFacts:
    """What one contract says."""

    def __init__(self, draft: Draft) -> None:
        chance, self.draft = draft.chance, draft
        self.first = draft.names.companies(1)[0]
        self.second = draft.names.people(1)[0] if chance.random() < 0.3 else draft.names.companies(2)[1]
        if self.second.name == self.first.name:
            self.second = draft.names.people(1)[0]
        self.number = chance.choice(("V-{n}", "{n}", "2026/{n}")).format(n=chance.randrange(1000, 99999))
        self.signed = dt.date(2025, 1, 1) + dt.timedelta(chance.randrange(500))
        self.start = self.signed + dt.timedelta(chance.randrange(1, 60))
        self.end = self.start + dt.timedelta(365 * chance.choice((1, 2, 3)))
        self.length = chance.choice(("three", "one"))

    @property
    def notice(self) -> str:
        return self.draft[self.length]

    def say(self, *kinds: str) -> None:
        duration = DURATIONS[self.notice]
        truth = {
            "party": (self.first.name, self.second.name), "contract_number": (self.number,), "contract_date": (self.signed.isoformat(),),
            "start_date": (self.start.isoformat(),), "end_date": (self.end.isoformat(),), "notice_period": (duration,),
        }  # fmt: skip
        for kind in kinds:
            self.draft.say(kind, *truth[kind])

    @property
    def sentences(self) -> list[str]:
        draft, day = self.draft, self.draft.words.date
        return [
            draft["begins"].format(day=day(self.start)),
            draft["ends"].format(day=day(self.end)),
            draft["leaves"].format(notice=self.notice),
        ]


def _block(one: Someone) -> str:
    return f"<div>{escape(one.name)}</div><div>{escape(one.street)}</div><div>{escape(one.city)}</div>"


def key_facts(draft: Draft) -> str:
    """The roles with a label each, and a block of labels and values."""
    facts, words = ContractFacts(draft), draft.words
    facts.say("party", "contract_number", "contract_date", "start_date", "end_date", "notice_period")
    meta = pairs(
        [
            (draft["number"], facts.number),
            (draft["signed"], words.date(facts.signed)),
            (draft["start"], words.date(facts.start)),
            (draft["end"], words.date(facts.end)),
            (draft["notice"], facts.notice),
        ],
        colon=":",
    )
    who = f"<div class=row><div><b>{draft['role']}</b>{_block(facts.first)}</div><div><b>{draft['role2']}</b>{_block(facts.second)}</div></div>"
    return sheet(
        f"<h1>{draft['title']}</h1>{meta}{who}<h3>1.</h3><p>{draft['rest']}</p><h3>2.</h3><p>{draft['rest']}</p>"
    )


def block_between(draft: Draft) -> str:
    """The word "between" and each party as a block in the middle; dates in sentences."""
    facts = ContractFacts(draft)
    facts.say("party", "contract_number", "start_date", "end_date", "notice_period")
    who = f"<center>{draft['open']}<br><br><b>{escape(facts.first.name)}</b><br>{escape(facts.first.street)}, {escape(facts.first.city)}<br><br>{draft['and']}<br><br><b>{escape(facts.second.name)}</b><br>{escape(facts.second.street)}, {escape(facts.second.city)}</center>"
    clauses = "".join(
        f"<p>{number}. {escape(text)}</p>" for number, text in enumerate([draft["rest"], *facts.sentences], 1)
    )
    return sheet(
        f"<h1 style='text-align:center'>{draft['title']}</h1><p style='text-align:center'>{draft['number']} {facts.number}</p>{who}{clauses}"
    )


def running_text(draft: Draft) -> str:
    """The parties in a sentence, everything in paragraphs over lines."""
    facts = ContractFacts(draft)
    facts.say("party", "contract_date", "start_date", "end_date", "notice_period")
    who = escape(draft["between"].format(a=facts.first.name, b=facts.second.name))
    begins, ends, leaves = map(escape, facts.sentences)
    return sheet(
        f"<h2>{draft['title']}</h2><p>{draft['signed']}: {draft.words.date(facts.signed)}</p><p>{who}</p><p>{draft['rest']} {begins} {draft['rest']}</p><p>{draft['rest']} {ends} {leaves}</p>"
    )


def cover_and_clauses(draft: Draft) -> str:
    """Roles with colons in lines, then clauses with headings over two columns of numbers and text."""
    facts, words = ContractFacts(draft), draft.words
    facts.say("party", "contract_number", "contract_date", "start_date", "end_date", "notice_period")
    who = f"<div>{draft['role']}: {escape(facts.first.name)}, {escape(facts.first.street)}, {escape(facts.first.city)}</div><div>{draft['role2']}: {escape(facts.second.name)}, {escape(facts.second.street)}, {escape(facts.second.city)}</div>"
    meta = pairs([(draft["number"], facts.number), (draft["signed"], words.date(facts.signed))])
    dates = pairs([(draft["start"], words.date(facts.start)), (draft["end"], words.date(facts.end))], colon=":")
    return sheet(
        f"<h1>{draft['title']}</h1>{meta}<p>{who}</p>{dates}<p>§ 1 {draft['rest']}</p><p>§ 2 {escape(facts.sentences[2])} {draft['rest']}</p>",
        "body{font-size:9pt}",
    )


def long_sentences(draft: Draft) -> str:
    """Everything in sentences, in narrow justified paragraphs, so that lines break anywhere."""
    facts = ContractFacts(draft)
    facts.say("party", "start_date", "end_date", "notice_period", "contract_number")
    who = escape(draft["between"].format(a=facts.first.name, b=facts.second.name))
    begins, ends, leaves = map(escape, facts.sentences)
    return sheet(
        f"<div style='width:330px'><h2>{draft['title']}</h2><p>{draft['number']} {facts.number}</p><p>{who}</p><p>{draft['rest']} {begins} {ends}</p><p>{draft['rest']} {leaves} {draft['rest']}</p></div>",
        "p{text-align:justify}body{font-family:'DejaVu Serif',serif}",
    )


CONTRACTS = Kind(
    "contract",
    (key_facts, block_between, running_text),
    (cover_and_clauses, long_sentences),
    LABELS,
    HELD_OUT_LABELS,
    has_money=False,
)
