"""Letters of companies and of people."""

import datetime as dt
from html import escape

from tests.papers.made import Draft, Kind, labels_of, sheet
from tests.papers.names import Someone

LABELS = {
    "en": labels_of("""
        subject: Subject / Re
        date: Date
        reference: Our reference / Our ref.
        about: Cancellation of contract 4711 / Your enquiry about oak shelves / Meeting in our office
        dear: Dear Sir or Madam, / Dear Mr Smith,
        text: thank you for your message. We would like to tell you that the delivery arrives a week later than planned. You need not do anything; we will call you.
        closing: Yours sincerely, / Kind regards,
    """),
    "de": labels_of("""
        subject: Betreff / Betr.
        date: Datum
        reference: Unser Zeichen / Aktenzeichen
        about: Kündigung des Vertrags 4711 / Ihre Anfrage zu Eichenregalen / Besprechung in unserem Büro
        dear: Sehr geehrte Damen und Herren, / Sehr geehrter Herr Schmidt,
        text: vielen Dank für Ihre Nachricht. Wir möchten Ihnen mitteilen, dass die Lieferung eine Woche später kommt als geplant. Sie müssen nichts tun; wir rufen Sie an.
        closing: Mit freundlichen Grüßen / Freundliche Grüße
    """),
    "pt": labels_of("""
        subject: Assunto
        date: Data
        reference: Nossa referência / N/ Ref.
        about: Cancelamento do contrato 4711 / O seu pedido de informação / Reunião no nosso escritório
        dear: Exmo. Senhor, / Caro Senhor Silva,
        text: agradecemos a sua mensagem. Informamos que a entrega chega uma semana mais tarde do que o previsto. Não precisa de fazer nada; nós telefonamos.
        closing: Com os melhores cumprimentos, / Atentamente,
    """),
    "es": labels_of("""
        subject: Asunto
        date: Fecha
        reference: Nuestra referencia / N/ Ref.
        about: Cancelación del contrato 4711 / Su consulta sobre estanterías / Reunión en nuestra oficina
        dear: Estimado señor: / Muy señores míos:
        text: agradecemos su mensaje. Le informamos de que la entrega llegará una semana más tarde de lo previsto. No tiene que hacer nada; le llamaremos.
        closing: Atentamente, / Un cordial saludo,
    """),
    "fr": labels_of("""
        subject: Objet
        date: Date
        reference: Notre référence / N/Réf.
        about: Résiliation du contrat 4711 / Votre demande au sujet des étagères / Réunion dans nos bureaux
        dear: Madame, Monsieur, / Cher Monsieur,
        text: nous vous remercions de votre message. Nous vous informons que la livraison arrivera une semaine plus tard que prévu. Vous n'avez rien à faire ; nous vous appellerons.
        closing: Veuillez agréer nos salutations distinguées. / Cordialement,
    """),
    "ru": labels_of("""
        subject: Тема
        date: Дата
        reference: Исх. №
        about: Расторжение договора 4711 / Ваш запрос о полках / Встреча в нашем офисе
        dear: Уважаемые коллеги! / Уважаемый Иван Иванович!
        text: благодарим Вас за письмо. Сообщаем, что поставка придёт на неделю позже, чем планировалось. Вам ничего делать не нужно; мы Вам позвоним.
        closing: С уважением, / С наилучшими пожеланиями,
    """),
}
HELD_OUT_LABELS = {
    "en": labels_of("""
        subject: Regarding / RE
        date: Date
        reference: Reference / Your reference
        about: Change of address / Complaint about invoice 88-12 / Invitation to tender for the north wing
        dear: Dear Ms Osei, / To whom it may concern, / Dear colleagues,
        text: I am writing to let you know that we moved to a new building last month. Please send all further letters to the address above. Our telephone numbers have not changed.
        closing: Yours faithfully, / Best regards, / Sincerely,
    """),
    "de": labels_of("""
        subject: Betreff / Betrifft
        date: Datum
        reference: Ihr Zeichen / Geschäftszeichen
        about: Änderung unserer Anschrift / Reklamation zur Rechnung 88-12 / Einladung zur Mitgliederversammlung
        dear: Sehr geehrte Frau Yilmaz, / Liebe Kolleginnen und Kollegen, / Guten Tag Herr Roth,
        text: hiermit teile ich Ihnen mit, dass wir im letzten Monat umgezogen sind. Bitte senden Sie alle weiteren Briefe an die oben genannte Anschrift. Unsere Telefonnummern bleiben gleich.
        closing: Hochachtungsvoll / Mit besten Grüßen / Viele Grüße
    """),
    "pt": labels_of("""
        subject: ASSUNTO / Assunto
        date: Data
        reference: Vossa referência / Referência
        about: Alteração de morada / Reclamação sobre a fatura 88-12 / Convite para a assembleia geral
        dear: Exmos. Senhores, / Prezada Dra. Antunes, / Estimados clientes,
        text: venho por este meio informar que mudámos de instalações no mês passado. Pedimos que envie toda a correspondência para a morada acima. Os nossos telefones mantêm-se.
        closing: Melhores cumprimentos, / Cordialmente, / Atenciosamente,
    """),
    "es": labels_of("""
        subject: ASUNTO / Asunto
        date: Fecha
        reference: Su referencia / S/ Ref.
        about: Cambio de domicilio / Reclamación sobre la factura 88-12 / Convocatoria de la junta general
        dear: Estimada señora Gil: / Distinguido cliente: / Apreciados señores:
        text: por la presente le comunico que nos trasladamos el mes pasado. Le rogamos que envíe toda la correspondencia a la dirección indicada. Nuestros teléfonos no cambian.
        closing: Le saluda atentamente, / Saludos cordiales, / Reciba un cordial saludo,
    """),
    "fr": labels_of("""
        subject: OBJET / Concerne
        date: Date
        reference: Vos références / Référence
        about: Changement d'adresse / Réclamation concernant la facture 88-12 / Convocation à l'assemblée générale
        dear: Chère Madame, / Messieurs, / Madame la Directrice,
        text: nous vous informons que nous avons déménagé le mois dernier. Nous vous prions d'envoyer tout courrier à l'adresse ci-dessus. Nos numéros de téléphone ne changent pas.
        closing: Bien cordialement, / Je vous prie d'agréer mes salutations distinguées. / Meilleures salutations,
    """),
    "ru": labels_of("""
        subject: О чём / Касательно
        date: Дата
        reference: Исходящий № / На №
        about: Изменение адреса / Претензия по счёту 88-12 / Приглашение на общее собрание
        dear: Уважаемая Светлана Павловна! / Дорогие коллеги! / Добрый день, Олег Иванович!
        text: сообщаем, что в прошлом месяце мы переехали в другое здание. Просим направлять все письма по указанному выше адресу. Номера телефонов остались прежними.
        closing: С уважением, / Искренне Ваши, / С почтением,
    """),
}
_DEN = {
    "en": "{town}, {day}",
    "de": "{town}, den {day}",
    "pt": "{town}, {day}",
    "es": "{town}, {day}",
    "fr": "{town}, le {day}",
    "ru": "{town}, {day}",
}


class LetterFacts:
    """What one letter says."""

    def __init__(self, draft: Draft, *, private: bool = False) -> None:
        chance, names, self.draft = draft.chance, draft.names, draft
        self.person = names.people(2)
        company, other = names.companies(2)
        self.sender = self.person[0] if private else company
        self.recipient = other if chance.random() < 0.5 else self.person[1]
        self.day = dt.date(2025, 1, 1) + dt.timedelta(chance.randrange(700))
        self.reference = f"{chance.choice('ABK')}{chance.randrange(100, 999)}-{chance.randrange(10, 99)}"

    def say(self, *kinds: str) -> None:
        truth = {
            "sender": self.sender.name, "recipient": self.recipient.name, "letter_date": self.day.isoformat(), "subject": self.draft["about"],
            "reference": self.reference, "email": self.sender.email, "phone": self.sender.phone,
        }  # fmt: skip
        for kind in kinds:
            self.draft.say(kind, truth[kind])

    @property
    def body(self) -> str:
        text = self.draft["text"]
        return f"<p>{escape(self.draft['dear'])}</p>{{subject}}<p>{escape(text)}</p><p>{escape(text[0].upper() + text[1:])}</p><p>{escape(self.draft['closing'])}</p><br><br><div>{escape(self.person[0].name)}</div>"


def address(one: Someone) -> str:
    return f"<div>{escape(one.name)}</div><div>{escape(one.street)}</div><div>{escape(one.city)}</div>"


def _placed_day(draft: Draft, facts: LetterFacts) -> str:
    return _DEN[draft.language].format(town=draft.names.town, day=draft.words.date(facts.day))


def window_envelope(draft: Draft) -> str:
    """A small line of the sender above the address, the date at the right, the subject in bold without a label."""
    facts = LetterFacts(draft)
    facts.say("sender", "recipient", "letter_date", "subject")
    sender = f"<div style='font-size:7pt;text-decoration:underline'>{escape(facts.sender.name)} · {escape(facts.sender.street)} · {escape(facts.sender.city)}</div>"
    return sheet(
        f"<div style='margin-top:60px'>{sender}{address(facts.recipient)}</div><div style='text-align:right;margin:30px 0'>{escape(_placed_day(draft, facts))}</div><b>{escape(draft['about'])}</b><br><br>{facts.body.format(subject='')}"
    )


def of_a_person(draft: Draft) -> str:
    """The sender's address at the right, the recipient's at the left, the subject with a label."""
    facts = LetterFacts(draft, private=True)
    facts.say("sender", "recipient", "letter_date", "subject")
    return sheet(
        f"<div style='margin-left:65%'>{address(facts.sender)}</div><div style='margin:24px 0'>{address(facts.recipient)}</div><p>{escape(_placed_day(draft, facts))}</p><p><b>{draft['subject']}: {escape(draft['about'])}</b></p>{facts.body.format(subject='')}"
    )


def with_references(draft: Draft) -> str:
    """A letterhead with telephone and e-mail, a block of date and reference."""
    facts = LetterFacts(draft)
    facts.say("sender", "recipient", "letter_date", "subject", "reference", "email", "phone")
    head = f"<h2>{escape(facts.sender.name)}</h2><div style='font-size:8pt'>{escape(facts.sender.street)}, {escape(facts.sender.city)}<br>Tel. {facts.sender.phone}<br>E-mail: {facts.sender.email}</div>"
    block = f"<div>{draft['date']}: {escape(draft.words.date(facts.day))}</div><div>{draft['reference']}: {facts.reference}</div>"
    return sheet(
        f"{head}<hr><div class=row><div>{address(facts.recipient)}</div><div>{block}</div></div><p>{draft['subject']}: {escape(draft['about'])}</p>{facts.body.format(subject='')}"
    )


def centred_head(draft: Draft) -> str:
    """A letterhead in the middle, the date alone below it, the subject behind the salutation."""
    facts = LetterFacts(draft)
    facts.say("sender", "recipient", "letter_date", "subject")
    head = f"<div style='text-align:center'><div style='font-size:16pt'>{escape(facts.sender.name)}</div><div>{escape(facts.sender.street)} | {escape(facts.sender.city)}</div></div>"
    return sheet(
        f"{head}<p>{escape(draft.words.date(facts.day))}</p>{address(facts.recipient)}<br>{facts.body.format(subject='<p><b>' + escape(draft['about']) + '</b></p>')}"
    )


def sender_at_the_right(draft: Draft) -> str:
    """The company's block at the right with its telephone, the recipient at the left on the same height, date and reference in a row."""
    facts = LetterFacts(draft)
    facts.say("sender", "recipient", "letter_date", "subject", "reference", "phone")
    right = f"<div>{address(facts.sender)}<div>Tel. {facts.sender.phone}</div></div>"
    row = f"<table class=grid><tr><th>{draft['reference']}</th><th>{draft['date']}</th></tr><tr><td>{facts.reference}</td><td>{escape(draft.words.date(facts.day))}</td></tr></table>"
    end = facts.body.format(subject="").replace(
        f"<br><br><div>{escape(facts.person[0].name)}",
        f"<div>{escape(facts.sender.name)}</div><br><div>{escape(facts.person[0].name)}",
    )
    return sheet(
        f"<div class=row style='margin-top:40px'><div><br>{address(facts.recipient)}</div>{right}</div>{row}<p><b>{draft['subject']}: {escape(draft['about'])}</b></p>{end}",
        "body{font-family:'DejaVu Serif',serif}",
    )


LETTERS = Kind(
    "letter",
    (window_envelope, of_a_person, with_references),
    (centred_head, sender_at_the_right),
    LABELS,
    HELD_OUT_LABELS,
    has_money=False,
)
