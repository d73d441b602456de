"""The words of letters in six languages."""

from webapp.readers.fields.labels import Phrases, Vocabulary, titles_of
from webapp.readers.fields.vocabulary import STRONG, phrases_by_kind
from webapp.readers.fields.words import folded_set

_STRONG = phrases_by_kind(
    {
        "letter_date": "date; datum; data; fecha; дата; our date; date of letter; unser datum; исх дата",
        "subject": """
            subject; re; regarding; in re; betreff; betr; betrifft; assunto; referente a; asunto; objet; о чем;
            concerne; тема; касательно
        """,
        "sender": "from; sender; von; absender; remetente; de; remitente; expéditeur; от; отправитель",
        "recipient": """
            to; recipient; an; empfänger; para; destinatário; a; destinatario; à; destinataire; кому; получатель
        """,
        "reference": """
            our ref; our reference; reference; ref; your ref; your reference; unser zeichen; ihr zeichen;
            aktenzeichen; az; geschäftszeichen; nossa referência; nossa ref; n ref; vossa referência; vossa ref;
            referência; nuestra referencia; n ref; nuestra ref; s ref; su referencia; notre référence; nos références;
            nos réf; nréf; vos références; vos réf; vréf; référence; исх no; исходящий no; на no; исх; s ref; su ref
        """,
    }
)
SALUTATIONS = phrases_by_kind(
    {
        "salutation": """
            dear; to whom it may concern; sehr geehrte; sehr geehrter; sehr verehrte; sehr geehrtes; liebe; lieber;
            guten tag; werte; werter; exmo; exma; exmos; exmas; caro; cara; caros; prezado; prezada; prezados;
            prezadas; estimado senhor; estimada senhora; estimados senhores; ilustre; estimado; estimada; estimados;
            estimadas; muy señor mío; muy señores míos; muy señor; muy señora; muy señores; distinguido; distinguida;
            querido; querida; a quien corresponda; apreciado; apreciada; apreciados; apreciadas; distinguidos;
            queridos; queridas; caras; madame; monsieur; mesdames; messieurs; cher; chère; chères; chers; madame
            monsieur; уважаемый; уважаемая; уважаемые; многоуважаемый; дорогой; дорогая; дорогие; добрый день;
            здравствуйте
        """,
    }
)["salutation"]
CLOSINGS = phrases_by_kind(
    {
        "closing": """
            yours sincerely; yours faithfully; yours truly; sincerely; sincerely yours; kind regards; best regards;
            warm regards; best wishes; with kind regards; respectfully; regards; respectfully yours; yours; with best
            wishes; mit freundlichen grüßen; mit freundlichem gruß; freundliche grüße; hochachtungsvoll; beste grüße;
            viele grüße; mit besten grüßen; herzliche grüße; mit freundlichen gruessen; freundlichen gruß; com os
            melhores cumprimentos; melhores cumprimentos; atentamente; atenciosamente; cumprimentos; cordialmente; com
            estima; com os nossos melhores cumprimentos; subscrevemonos; respeitosamente; un cordial saludo; reciba un
            cordial saludo; saludos cordiales; le saluda atentamente; les saluda atentamente; saludos; un saludo; muy
            atentamente; cordiales saludos; reciban un cordial saludo; sin otro particular; veuillez agréer; je vous
            prie; nous vous prions; cordialement; salutations distinguées; bien cordialement; sincères salutations;
            veuillez recevoir; recevez; dans lattente; avec mes salutations; meilleures salutations; bien à vous; с
            уважением; с наилучшими пожеланиями; искренне ваш; искренне ваши; с почтением; искренне ваша; с искренним
            уважением
        """,
    }
)["closing"]
SALUTATION_PHRASES, CLOSING_PHRASES = titles_of(SALUTATIONS), titles_of(CLOSINGS)
LETTER = Vocabulary(
    SALUTATION_PHRASES,
    Phrases(
        (2, _STRONG), (2, {kind: STRONG[kind] for kind in ("email", "phone", "customer_number", "vat_number", "iban")})
    ),
    sender="sender",
    recipient="recipient",
)
# What a place has before a letter's date: "Hamburg, den 3. Mai 2026".
DATE_LEADS = folded_set("den le el a em la на г")
# What English letters begin with: their dates may have the month first.
ENGLISH = frozenset({"dear", "to"})
