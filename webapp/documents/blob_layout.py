"""Where every blob lies. Paths are made of ids and hashes alone, so nothing that a person wrote becomes one.

    ORG/documents/DOCUMENT/original                   the uploaded file
    ORG/documents/DOCUMENT/opened-LEASE               its copy that needs no password, where the file does
    ORG/documents/DOCUMENT/RUN/KIND-DIGEST.ENDING     what a run made; published or not
    ORG/documents/DOCUMENT/pages/RULES-SIZE-N.png     pictures of pages
    ORG/extractions/SHA256-DOCUMENT/...               kept answers about these bytes, of all documents that name it
    ORG/extractions/SHA256-DOCUMENT/original          the file of parts of containers that have these bytes
    ORG/answers/CALL.json                             vectors that the database did not take in time
    ORG/exports/OPERATION/NUMBER-ID                   a part of an export's ZIP, and NUMBER-ID.members
    workers/WORKER                                    the mark by which others see that a worker shares its files

Deleting a document clears its own folder, and that of the answers with the last document that names it.
What no row names is removed daily (worker/chores.py).
"""

from uuid import UUID

_OPENED = "opened-"


def documents_folder(org_id: UUID) -> str:
    """All documents of an org."""
    return f"{org_id}/documents/"


def document_folder(org_id: UUID, document_id: UUID) -> str:
    """A document's file, what its runs made, and its pictures."""
    return f"{documents_folder(org_id)}{document_id}/"


def original(org_id: UUID, document_id: UUID) -> str:
    """The uploaded file."""
    return f"{document_folder(org_id, document_id)}original"


def opened_copy(org_id: UUID, document_id: UUID, lease_id: UUID) -> str:
    """The copy that needs no password, as the holder of this lease made it."""
    return f"{document_folder(org_id, document_id)}{_OPENED}{lease_id}"


def is_opened_copy(path: str) -> bool:
    """Whether a blob in a document's folder is a copy that needs no password."""
    return path.split("/")[3].startswith(_OPENED)


def artifact(org_id: UUID, document_id: UUID, run_id: UUID, name: str) -> str:
    """What a run made."""
    return f"{document_folder(org_id, document_id)}{run_id}/{name}"


def page_picture(org_id: UUID, document_id: UUID, name: str) -> str:
    """A picture of a page."""
    return f"{document_folder(org_id, document_id)}pages/{name}.png"


def book_pictures(org_id: UUID, document_id: UUID, name: str) -> str:
    """The list of the pictures in a book."""
    return f"{document_folder(org_id, document_id)}pages/{name}.json"


def new_answers_folder(org_id: UUID, document_id: UUID, sha256: str) -> str:
    """The answers about bytes that no document has yet; documents that have them later name the same folder."""
    return f"{org_id}/extractions/{sha256}-{document_id.hex}/"


def answers_folder(org_id: UUID, sha256: str, stored: str | None) -> str:
    """The answers about a document; `stored` is its column, which old documents lack."""
    return stored or f"{org_id}/extractions/{sha256}/"


def shared_file(answers_folder: str) -> str:
    """The file of all parts of containers that have the same bytes."""
    return f"{answers_folder}original"


def late_vectors_folder(org_id: UUID) -> str:
    """Vectors that wait, since the database did not take them in time."""
    return f"{org_id}/answers/"


def export_folder(org_id: UUID, operation_id: UUID) -> str:
    """The parts of an export."""
    return f"{org_id}/exports/{operation_id}/"


def export_part(org_id: UUID, operation_id: UUID, number: int, attempt: UUID) -> str:
    """A part of an export's ZIP, as one attempt wrote it."""
    return f"{export_folder(org_id, operation_id)}{number:05}-{attempt.hex}"


def members_of(part: str) -> str:
    """The list of what is in a part."""
    return f"{part}.members"


WORKER_MARKS = "workers/"


def worker_mark(worker_id: UUID) -> str:
    """The mark of a worker process."""
    return f"{WORKER_MARKS}{worker_id}"


def org_of(path: str) -> UUID | None:
    """Whose blob it is; None for what we did not put there."""
    return as_uuid(path.split("/", maxsplit=1)[0])


def document_of(path: str) -> str:
    """The name of the document's folder that a blob lies in."""
    return path.split("/")[2]


def run_of(path: str) -> UUID | None:
    """The run that made a blob in a document's folder; None for the file itself and for pictures."""
    return as_uuid(path.split("/")[3])


def content_of(path: str) -> str:
    """The SHA-256 that a kept answer, or a folder of them, is about."""
    return path.split("/")[2].partition("-")[0]


def owner_of(path: str) -> str:
    """What a blob goes with: the id of a document or an operation, a folder of answers, or an org.

    "" for what we did not put there.
    """
    org, kind, name, *_ = [*path.split("/"), "", ""]
    owners = {
        "documents": name,
        "exports": name,
        "extractions": f"{org}/{kind}/{name}/" if name else "",
        "answers": org,
    }
    return owners.get(kind, "")


def as_uuid(text: str) -> UUID | None:
    """The id that a part of a path is, if it is one."""
    try:
        return UUID(text)
    except ValueError:
        return None
