"""One library in several languages: words are found in their other forms, with and without accents, and by titles."""

from dataclasses import asdict

from sqlalchemy import text

from tests.search.passages import Searcher, chunk, new_document, put
from webapp.clock import new_id
from webapp.db import is_postgresql, reading, session, transaction
from webapp.runs import transitions
from webapp.search import word_rows
from webapp.search.model import Chunk
from webapp.search.stems import forms, plain_words
from webapp.search.word_rows import DocumentNames
from webapp.worker import chores

# In each language a text, and words of it in other forms.
TEXTS = {
    "de": ("Die Kündigungen der Mietverträge gingen per Einschreiben ein.", "kündigung mietvertrag", "kundigungen"),
    "en": ("Invoices were paid late, and reminders followed.", "paying an INVOICE", "reminder"),
    "es": ("Las facturas pendientes se pagarán mañana.", "factura pendiente", "manana"),
    "fr": ("Les résiliations signées arrivent à la préfecture.", "résiliation signée", "prefecture"),
    "it": ("I contratti firmati sono nella cartella.", "contratto firmato", "cartelle"),
    "nl": ("De huurcontracten lopen volgend jaar af.", "huurcontract", "jaren"),
    "pl": ("Faktury zostały zapłacone w terminie.", "faktura zapłacona", "zaplacone"),
    "pt": ("As informações dos pagamentos estão em anexo.", "informação pagamento", "informacoes"),
    "ru": ("Счета на оплату отправлены поставщикам.", "счёт оплата поставщик", "поставщиков"),
}


def found(searcher: Searcher, query: str) -> list[str]:
    return [hit.text for hit in searcher.by_words(query)]


def test_each_language_of_a_library_is_stemmed_by_itself(searcher: Searcher) -> None:
    for language, (written, *_) in TEXTS.items():
        put(searcher.org_id, new_document(searcher.org_id, "x.txt"), [written], DocumentNames(language=language))

    for written, *queries in TEXTS.values():
        for query in queries:
            assert found(searcher, query)[:1] == [written], query
    # The stem of "made" is "mad" in some languages, and this is English.
    put(searcher.org_id, new_document(searcher.org_id), ["A mad keeper."], DocumentNames(language="en"))
    assert found(searcher, "made") == []
    # Beginnings are those of words as they are written, not of their stems.
    assert found(searcher, "invoic*") == [TEXTS["en"][0]]
    assert found(searcher, "the* -draft") == []


def test_accents_make_no_difference_but_exact_ones_come_first(searcher: Searcher) -> None:
    plain, accented = "The cafe beside the harbour opens at nine.", "The café beside the harbour opens at ten."
    put(searcher.org_id, new_document(searcher.org_id), [plain, accented])
    put(searcher.org_id, new_document(searcher.org_id), ["Счёт и счет."], DocumentNames(language="ru"))

    assert found(searcher, "cafe harbour") == [plain, accented]
    assert found(searcher, "café harbour") == [accented, plain]
    assert found(searcher, '"the café beside"') == [accented, plain]
    assert found(searcher, "Cafe\u0301 beside") == [accented, plain]
    assert found(searcher, "счет") == ["Счёт и счет."]


def test_a_sentence_without_accents_finds_what_has_them(searcher: Searcher) -> None:
    right = "A rescisão do contrato de locação se faz por escrito, com trinta dias de antecedência."
    others = [f"O contrato de trabalho número {number} pode ser anexo de um outro." for number in range(5)]
    put(searcher.org_id, new_document(searcher.org_id), [*others, right], DocumentNames(language="pt"))

    for asked in ("como fazer a rescisao do contrato de locacao", "como fazer a rescisão do contrato de locação"):
        assert found(searcher, asked)[0] == right
        assert searcher.by_both(asked)[0].text == right


def test_words_of_title_and_file_name_count(searcher: Searcher) -> None:
    org_id = searcher.org_id
    texts = ["Payment is due in thirty days.", "Nothing of interest."]
    mine, other = new_document(org_id, "LeaseOfMyFlat2024.pdf"), new_document(org_id, "x.pdf")
    put(org_id, mine, texts, DocumentNames(title="Rental agreements"))
    put(org_id, other, ["Payment for a boat, due at once, in days."])

    for spread in ("payment lease", "payment flat 2024", "rental agreement payment", "leaseofmyflat2024 payment"):
        assert found(searcher, spread)[0] == texts[0], spread
    assert found(searcher, "payment pdf")[0] == "Payment for a boat, due at once, in days."
    # A phrase is one of the text, and another title replaces the first.
    assert found(searcher, '"rental agreements"') == []
    put(org_id, mine, texts, DocumentNames(title="Housing"))
    assert found(searcher, "rental") == []
    assert found(searcher, "housing payment")[0] == texts[0]


def test_an_upgrade_indexes_what_is_there(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id, "letters.txt")
    put(searcher.org_id, document_id, ["Two letters."])
    table = "chunk_words" if is_postgresql() else "chunks_fts"
    with transaction(searcher.org_id):
        session().execute(text(f"DELETE FROM {table}"))
    assert found(searcher, "letter") == []

    with transaction(searcher.org_id):
        word_rows.write_all(session().connection(), searcher.org_id, document_id)
    assert found(searcher, "letter") == ["Two letters."]
    with reading(searcher.org_id):
        assert session().scalar(text("SELECT words_by FROM documents WHERE words_by IS NOT NULL")) is not None


def test_what_an_earlier_version_publishes_is_indexed_later(searcher: Searcher) -> None:
    org_id, document_id = searcher.org_id, new_document(searcher.org_id, "letters.txt")
    put(org_id, document_id, ["Two letters."])
    # A process of an earlier version adds a passage without its words, and leaves `words_by` as it is.
    with transaction(org_id):
        session().add(Chunk(org_id=org_id, document_id=document_id, **asdict(chunk(document_id, 1, "Three stamps."))))
    assert found(searcher, "stamps") == []

    assert chores.index_words(lambda: True) == 0
    assert chores.index_words() == 1
    assert found(searcher, "stamps") == ["Three stamps."]
    assert chores.index_words() == 0


def test_a_document_that_somebody_is_changing_or_has_deleted_is_left_out(searcher: Searcher) -> None:
    org_id, document_id = searcher.org_id, new_document(searcher.org_id, "letters.txt")
    put(org_id, document_id, ["Two letters."])
    with transaction(org_id):
        assert not word_rows.write_all(session().connection(), org_id, new_id())
        if is_postgresql():
            transitions.lock(document_id, org_id)
            with session().get_bind().connect() as other:  # type: ignore[union-attr] # an engine
                other.execute(text("SELECT set_config('app.scope', 'system', true)"))
                assert not word_rows.write_all(other, org_id, document_id)


def test_a_word_of_a_question_is_looked_for_in_every_language() -> None:
    assert forms("Straße")[0] == "strasse"
    assert forms("счёт")[0] == plain_words("счет")[0]
    assert len(forms("4711")) == len(forms("if")) == 1
