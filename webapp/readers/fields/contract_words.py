"""The words of contracts in six languages."""

from webapp.readers.fields.labels import Phrases, Vocabulary, titles_of
from webapp.readers.fields.vocabulary import STRONG, numbered, phrases_by_kind
from webapp.readers.fields.words import folded, folded_set

# The words that a title has in it; the longer ones may be the end of a word: "Mietvertrag".
TITLE_WORDS = folded_set(
    """
        agreement contract lease vertrag vereinbarung contrato acordo acuerdo convenio contrat convention bail договор
        соглашение контракт
    """
)
# What a sentence about a contract begins with, and no title.
SENTENCE_WORDS = folded_set("this the these we dieser diese der die das o a este el la le ce cette настоящий этот")
TITLE_ENDS = tuple(map(folded, ("vertrag", "vereinbarung")))

_STRONG = phrases_by_kind(
    {
        "contract_number": """
            contract number; contract no; contract ref; contract reference; agreement number; agreement no; agreement
            ref; contract id; agreement reference; lease no; vertragsnummer; vertrag nr; vertragsnr; vertrags nr;
            vertrag nummer; contrato no; número do contrato; no do contrato; nº do contrato; contrato número; número
            de contrato; no de contrato; ref contrato; número del contrato; contrat no; numéro de contrat; no de
            contrat; numéro du contrat; référence du contrat; contrat numéro; no du contrat; договор no; номер
            договора; no договора; контракт no; соглашение no; договор номер; номер контракта; номер соглашения
        """,
        "contract_date": """
            contract date; date of agreement; date of contract; agreement date; date of this agreement; dated; made
            on; entered into on; signed on; is made on; executed on; concluded on; made and entered into on; made as
            of; vertragsdatum; datum des vertrags; geschlossen am; abgeschlossen am; vertrag vom; unterzeichnet am;
            vertrag geschlossen am; data do contrato; celebrado em; assinado em; data da assinatura; data de
            assinatura; data de celebração; celebrado a; fecha del contrato; celebrado el; firmado el; fecha de firma;
            fecha de celebración; suscrito el; date du contrat; conclu le; signé le; date de signature; fait le; date
            de conclusion; дата договора; заключен; дата заключения; дата подписания; подписан; договор от; заключено
        """,
        "start_date": """
            start date; commencement date; effective date; begin date; beginning; date of commencement; start of
            contract; valid from; commences on; starts on; begins on; takes effect on; effective as of; effective
            from; commence on; comes into force on; shall commence on; with effect from; effective on; start; first
            day of work; comes into effect on; starting on; commencing on; beginning on; in force from; term begins;
            vertragsbeginn; beginn; mietbeginn; beginn des vertrags; beginnt am; gültig ab; tritt am; laufzeitbeginn;
            startdatum; vertragsstart; ab dem; gilt ab dem; beginnend am; gilt ab; mit wirkung zum; arbeitsbeginn;
            beginn am; läuft ab dem; läuft vom; mit wirkung vom; data de início; início; início do contrato; início da
            vigência; com início em; início em; entra em vigor em; com efeitos a partir de; produz efeitos a partir
            de; tem início em; a partir de; inicia em; vigora desde; válido desde; início a; tem início a; em vigor a
            partir de; começa em; fecha de inicio; inicio; inicio del contrato; comienza el; entra en vigor el;
            entrará en vigor el; con efectos desde el; a partir del; inicia el; con inicio el; comenzará el; surte
            efecto el; surtirá efectos el; con efecto desde el; en vigor desde el; fecha de comienzo; date de début;
            début; date deffet; prise deffet; début du contrat; prend effet le; entre en vigueur le; commence le; à
            compter du; débute le; prendra effet le; commencera le; à partir du; entrera en vigueur le; date de prise
            deffet; débutera le; дата начала; начало; начало действия; вступает в силу с; действует с; начало срока;
            действует начиная с; срок начала; начинается с; вступает в силу; дата вступления в силу; начиная с; начало
            аренды; действие договора начинается; дата начала работы; date de commencement; comienzo; fecha de entrada
            en vigor; date dentrée en vigueur; начало работ; begin
        """,
        "end_date": """
            end date; expiry date; expiration date; termination date; valid until; expires on; ends on; terminates on;
            until; end of contract; expire on; end on; terminate on; remain in force until; in force until; continues
            until; end; continue until; shall end on; term ends; date of expiry; remains in effect until; ending on;
            vertragsende; ende; mietende; laufzeitende; endet am; gültig bis; läuft bis; bis zum; läuft am; befristet
            bis; enddatum; gilt bis; ende des vertrags; befristet bis zum; endend am; läuft bis zum; gilt bis zum;
            data de fim; fim; data de termo; termo; fim do contrato; termina em; válido até; vigora até; cessa em;
            até; com termo em; fim da vigência; data de cessação; termina a; termo em; caduca em; em vigor até; data
            do termo; fecha de fin; fin; fin del contrato; termina el; finaliza el; vence el; hasta el; fecha de
            finalización; fecha de término; finalizará el; terminará el; válido hasta; concluye el; fecha de
            terminación; expira el; vigente hasta el; en vigor hasta el; date de fin; fin du contrat; prend fin le; se
            termine le; jusquau; expire le; date déchéance; terme; échéance; prendra fin le; se terminera le; sachève
            le; expirera le; дата окончания; окончание; окончание действия; действует до; действует по; истекает; срок
            действия до; до; окончание срока; прекращается; дата прекращения; заканчивается; оканчивается; истекает
            срок; valid to; término; fecha de vencimiento; окончание работ; срок окончания; date de terme
        """,
        "notice_period": """
            notice period; period of notice; notice; notice of termination; notice of; at least; not less than;
            giving; upon; with; by giving; kündigungsfrist; frist; kündigungsfrist von; mit einer frist von;
            kündigungsfrist beträgt; die kündigungsfrist beträgt; unter einhaltung einer frist von; unter einhaltung
            einer kündigungsfrist von; mit einer kündigungsfrist von; frist von; pré aviso; préaviso; préaviso de;
            prazo de préaviso; aviso prévio; aviso prévio de; antecedência; antecedência de; antecedência mínima de;
            com uma antecedência mínima de; prazo de aviso prévio; plazo de preaviso; preaviso; preaviso de; preaviso
            mínimo de; antelación de; antelación mínima de; con una antelación mínima de; con una antelación de;
            período de preaviso; aviso previo de; préavis; délai de préavis; préavis de; préavis minimum de; moyennant
            un préavis de; un préavis de; délai de préavis de; sous réserve dun préavis de; срок уведомления;
            уведомление за; срок предупреждения; предупредив за; не менее чем за; не позднее чем за; уведомив за;
            уведомив другую сторону за; уведомив другую сторону не менее чем за; срок расторжения; за; notice
            required; durée du préavis; duración del preaviso
        """,
        "term": """
            term; contract term; duration; fixed term of; term of; period of; for a period of; initial term; initial
            term of; minimum term; for a term of; laufzeit; vertragslaufzeit; vertragsdauer; dauer; laufzeit von;
            mietdauer; laufzeit beträgt; duração; prazo; vigência; prazo de; pelo prazo de; duração de; pelo período
            de; prazo do contrato; duración; plazo; vigencia; duración de; plazo de; por un plazo de; por un período
            de; duración del contrato; durée; durée de; durée du contrat; pour une durée de; conclu pour une durée de;
            срок действия; срок; срок аренды; сроком на; на срок; продолжительность; на период; срок договора
        """,
        "party": """
            landlord; tenant; lessor; lessee; employer; employee; client; contractor; supplier; buyer; seller;
            provider; customer; party a; party b; first party; second party; licensor; licensee; service provider;
            consultant; purchaser; vendor; agent; principal; company; lender; borrower; publisher; author; vermieter;
            mieter; vermieterin; mieterin; arbeitgeber; arbeitnehmer; arbeitnehmerin; auftraggeber; auftragnehmer;
            auftraggeberin; auftragnehmerin; verkäufer; käufer; lieferant; kunde; anbieter; dienstleister;
            lizenzgeber; lizenznehmer; vertragspartner; darlehensgeber; darlehensnehmer; partei a; partei b;
            verpächter; pächter; senhorio; inquilino; arrendatário; locador; locatário; empregador; trabalhador;
            cliente; prestador; prestador de serviços; contratante; contratada; contratado; vendedor; comprador;
            fornecedor; primeiro outorgante; segundo outorgante; primeira outorgante; segunda outorgante; arrendador;
            arrendatario; empleador; empresa; trabajador; prestador de servicios; proveedor; inquilina; propietario;
            primera parte; segunda parte; contratista; bailleur; locataire; employeur; salarié; prestataire;
            fournisseur; acheteur; vendeur; société; preneur; le bailleur; le locataire; donneur dordre; арендодатель;
            арендатор; наймодатель; наниматель; работодатель; работник; заказчик; исполнитель; покупатель; продавец;
            поставщик; подрядчик; сторона 1; сторона 2; лицензиар; лицензиат; клиент; заимодавец; заемщик
        """,
    }
)
_IN_SENTENCES = frozenset({"start_date", "end_date", "contract_date", "notice_period", "term", "contract_number"})
_STRONG["contract_number"] += numbered(
    """
    contract; agreement; lease; vertrag; mietvertrag; contrato; acordo; acuerdo; contrat; convention; bail; договор;
    договора; контракт; соглашение; соглашения
    """
)
CONTRACT = Vocabulary(
    titles_of(()),
    Phrases(
        (2, _STRONG),
        (
            1,
            {
                "contract_number": ("number", "nummer", "número", "numéro", "номер", "vertrag", "contrat"),
                "contract_date": ("date", "datum", "data", "fecha", "дата", "fait le", "le"),
            },
        ),
        (2, {"iban": STRONG["iban"]}),
    ),
    _IN_SENTENCES,
    sender="party",
    recipient="party",
)
BETWEEN = folded_set("between by zwischen entre между")
AND = folded_set("and und e y et и")
# A party's name ends before these, and they may come before it.
STOPS = folded_set(
    """
        a an whose with having registered incorporated residing located of represented hereinafter herein (the
        nachfolgend im mit vertreten geschäftsansässig wohnhaft eine com sede contribuinte residente representada
        representado doravante adiante pessoa titular natural con domicilio en domiciliada domiciliado provista
        representada inscrita mayor dont demeurant sise sis domicilié domiciliée représentée représenté ayant ciaprès
        immatriculée именуемое именуемая именуемый в лице далее зарегистрированное действующий действующая проживающий
        проживающая паспорт инн огрн
    """
)
TITLES = folded_set(
    "mr mrs ms herr herrn frau firma sr sra senhor senhora monsieur madame mme m don doña гн гжа гражданин гражданка"
)
LEADS = folded_set(
    """
    the der die das dem den o os as a la el le les los sociedade société sociedad company parties following soussignés
    soussignées parte partes 1 2 b i ii
    """
)
# The words of an English title: such a contract's dates may have the month first.
ENGLISH = frozenset({"agreement", "contract", "lease"})
