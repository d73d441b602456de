"""What a failure means for a person: tables from codes to sentences.

Code stores codes alone; this is the only place where they become words.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from webapp.documents.states import FailureType
from webapp.library.intake import RefusalCode
from webapp.provider_errors import FailureCode
from webapp.runs.lifecycle import EndCode
from webapp.web.formatting import filesize


@dataclass(frozen=True)
class Sentence:
    """What happened, why, and what a person can do about it; `may_pass` where trying again can help."""

    title: str
    explanation: str
    remedy: str
    may_pass: bool = True


_REPROCESS = "Choose Reprocess to try again."

_FAILURES = {
    FailureCode.ENCRYPTED: Sentence(
        "The file is protected by a password",
        "It cannot be opened without its password, so nothing could be read.",
        "Give its password on the page of the document, or upload a copy without one.",
        may_pass=False,
    ),
    FailureCode.WRONG_PASSWORD: Sentence(
        "That was not the password",
        "The file could not be opened with the password that was given, so nothing could be read.",
        "Give it once more on the page of the document: capitals and small letters are not the same.",
        may_pass=False,
    ),
    FailureCode.PASSWORD_GONE: Sentence(
        "The password is needed once more",
        "Processing ended before the file was opened, and passwords are not kept for another attempt.",
        "Give it again on the page of the document.",
        may_pass=False,
    ),
    FailureCode.LOCK_UNKNOWN: Sentence(
        "The file is protected in a way that can't be opened here",
        "No password helps: it needs a certificate, a rights management service or a program of its own.",
        "Open it on your computer, save a copy without protection, and upload that one.",
        may_pass=False,
    ),
    FailureCode.CORRUPT: Sentence(
        "The file is damaged",
        "It is not complete, or not what its name says. No reader could make sense of it.",
        "Open it on your computer: if it opens there, export it anew and upload the result.",
        may_pass=False,
    ),
    FailureCode.EMPTY: Sentence(
        "The file is empty",
        "There is nothing in it to read.",
        "Check that the right file was saved, and upload it again.",
        may_pass=False,
    ),
    FailureCode.UNSUPPORTED: Sentence(
        "This kind of file can't be read",
        "Nothing on this installation knows its format.",
        "Export it as a PDF or as plain text, and upload that.",
        may_pass=False,
    ),
    FailureCode.TOO_LARGE: Sentence(
        "The file is too large",
        "Reading it would take more room than is allowed here.",
        "Split it into smaller files, or ask the person who runs Docmill to raise the limit.",
        may_pass=False,
    ),
    FailureCode.NO_TEXT: Sentence(
        "No text was found",
        "Its pages are blank, or pictures on which nothing could be read.",
        "Scan the paper again, straight and in good light. Where OCR is off here, ask the person who runs Docmill.",
        may_pass=False,
    ),
    FailureCode.UNKNOWN_SCRIPT: Sentence(
        "The letters can't be read yet",
        "It is written in letters that no data installed here covers.",
        "Ask the person who runs Docmill to add its language (make languages), and choose Reprocess.",
    ),
    FailureCode.NO_SOUND: Sentence(
        "There is no sound in it",
        "The file has no sound track, so there is nothing to write down.",
        "Check that the recording was saved with its sound, and upload that one.",
        may_pass=False,
    ),
    FailureCode.SILENT: Sentence(
        "Nothing can be heard",
        "The recording is silent from beginning to end.",
        "Listen to it on your computer: the microphone may have been off.",
        may_pass=False,
    ),
    FailureCode.NO_SPEECH: Sentence(
        "No speech recognised",
        "There is sound in the recording, but no speech that could be understood.",
        "If somebody speaks in it, make the recording louder, or choose the language on its page.",
        may_pass=False,
    ),
    FailureCode.TOO_LONG: Sentence(
        "The recording is too long",
        "It lasts longer than is allowed here.",
        "Cut it into shorter parts, or ask the person who runs Docmill to raise the limit.",
        may_pass=False,
    ),
    FailureCode.TOO_MANY_PAGES: Sentence(
        "The document has too many pages",
        "It has more pages than may be sent to the service that reads files here. Nothing was sent.",
        "Split it into smaller files, or ask the person who runs Docmill to raise the limit.",
        may_pass=False,
    ),
    FailureCode.ORG_FULL: Sentence(
        "There is no space left for your organisation",
        "The files that lie in this one do not fit into what your organisation may store. Those that did were added.",
        "Delete what is not needed, and choose Reprocess: it adds the files that are missing.",
    ),
    FailureCode.LANGUAGE: Sentence(
        "We couldn't understand the language",
        "Somebody speaks in it, but in none of the languages that were expected, or too unclearly to be written down.",
        "Choose the language that is spoken, beside the document. If that is no help, the person who runs Docmill can "
        "name the library's languages (LANGUAGES) or choose a service for speech.",
    ),
    FailureCode.UNAVAILABLE: Sentence(
        "A service that is needed did not answer",
        "It was tried several times.",
        f"The file itself is fine. {_REPROCESS}",
    ),
    FailureCode.STORAGE_UNAVAILABLE: Sentence(
        "The file storage did not answer",
        "It was tried several times.",
        f"The file itself is fine. {_REPROCESS}",
    ),
    FailureCode.STORAGE_FULL: Sentence(
        "The file storage is full",
        "There was no room left to store the result.",
        "The person who runs Docmill needs to make room; then choose Reprocess.",
    ),
    FailureCode.MODEL_MISSING: Sentence(
        "The language model is not installed",
        "Passages cannot be indexed without it.",
        "The person who runs Docmill can install it with “make setup”; then choose Reprocess.",
    ),
    FailureCode.CREDENTIALS_REFUSED: Sentence(
        "A service refused our key",
        "The key in the settings is missing, expired or not allowed to do this.",
        "The person who runs Docmill needs to set a valid key; then choose Reprocess.",
    ),
    FailureCode.REQUEST_REFUSED: Sentence(
        "A service refused the request",
        "It does not know the model that the settings name, or does not take what it was sent.",
        "The person who runs Docmill finds the details under Operations; then choose Reprocess.",
    ),
    FailureCode.QUOTA_EXHAUSTED: Sentence(
        "The account of a service is used up",
        "What was paid for, or allowed for this month, is spent.",
        "The person who runs Docmill needs to raise the limit at the service; then choose Reprocess.",
    ),
    FailureCode.RATE_LIMITED: Sentence(
        "A service was asked too often",
        "It asked us to wait until no attempts were left.",
        "Wait a few minutes, then choose Reprocess.",
    ),
    FailureCode.TIMED_OUT: Sentence(
        "It took too long",
        "Processing was stopped at the time limit.",
        "Choose Reprocess to try again.",
    ),
    FailureCode.PARSER_CRASHED: Sentence(
        "Reading the file broke off",
        "Something in it made the reader stop. Other documents are not affected.",
        "Export the file anew and upload the result, or choose Reprocess to try again.",
    ),
    FailureCode.PARSER_MEMORY: Sentence(
        "The file needs too much memory",
        "Reading it took more memory than is allowed.",
        "Split it into smaller files and upload those.",
        may_pass=False,
    ),
    FailureCode.SANDBOX_INCOMPLETE: Sentence(
        "Files can't be read safely here",
        "The settings ask that readers are locked in, and this machine does not offer all that this takes.",
        "The person who runs Docmill finds what is missing under Operations; then choose Reprocess.",
    ),
    FailureCode.BLOB_MISSING: Sentence(
        "The stored file is gone",
        "The file was not found in the storage where it belongs.",
        "Upload it again.",
        may_pass=False,
    ),
    FailureCode.BLOB_EXISTS: Sentence(
        "A result was already there",
        "Something else lies where this result belongs, and it was left as it is.",
        _REPROCESS,
    ),
    FailureType.PROCESS_TERMINATED: Sentence(
        "Processing was interrupted",
        "Docmill was stopped or restarted while it worked on this document.",
        f"Nothing is wrong with the file. {_REPROCESS}",
    ),
    FailureType.STEP_FAILED: Sentence(
        "A step failed",
        "Something unexpected happened while this document was processed.",
        f"{_REPROCESS} If it fails again, the person who runs Docmill finds the details under Operations.",
    ),
    FailureType.ATTEMPTS_EXHAUSTED: Sentence(
        "Every attempt failed",
        "It was tried several times, with pauses in between.",
        f"{_REPROCESS} If it fails again, the person who runs Docmill finds the details under Operations.",
    ),
    FailureType.BAD_INPUT: Sentence(
        "The file can't be used",
        "Something in the file itself keeps it from being read.",
        "Export it anew and upload the result.",
        may_pass=False,
    ),
    EndCode.WORKER_SILENT: Sentence(
        "The worker disappeared",
        "Whatever worked on this document stopped answering, several times in a row.",
        f"{_REPROCESS} If it happens again, the document may be too large for this machine.",
    ),
    EndCode.WORKER_DIED: Sentence(
        "The worker died",
        "The process that worked on this document was killed several times in a row.",
        f"{_REPROCESS} If it happens again, the document may be too large for this machine.",
    ),
    EndCode.RUN_TIMED_OUT: Sentence(
        "It took too long",
        "Processing was stopped at the time limit.",
        "Choose Reprocess to try again: it continues where it stopped.",
    ),
    EndCode.HTTP_WORKER_FAILED: Sentence(
        "A program could not do its part",
        "A step of the processing is done by a program outside of Docmill, and it reported a failure.",
        f"The person who runs Docmill finds what it said under Operations. {_REPROCESS}",
    ),
    EndCode.UNEXPECTED: Sentence(
        "Something unexpected happened",
        "The fault is ours and was recorded.",
        f"{_REPROCESS} If it fails again, the person who runs Docmill finds the details under Operations.",
    ),
    FailureType.CANCELLED: Sentence(
        "Processing was cancelled",
        "Somebody stopped it before it was done.",
        _REPROCESS,
    ),
}

_BY_VALUE = {code.value.lower(): sentence for code, sentence in _FAILURES.items()}
_GENERAL = _FAILURES[FailureType.STEP_FAILED]


def failure(code: str | None, otherwise: str | None = None) -> Sentence:
    """The sentence for a failure code; where it has none, for the broader type of failure."""
    for candidate in (code, otherwise):
        if candidate and (sentence := _BY_VALUE.get(candidate.lower())):
            return sentence
    return _GENERAL


class KeptBecause(StrEnum):
    """Why a file has no text although nothing failed."""

    OCR_OFF = "ocr_off"
    NO_SPEECH_SERVICE = "no_speech_service"
    ARCHIVE = "archive"
    NO_READER = "no_reader"
    NOT_TRIED_YET = "not_tried_yet"
    PICTURE = "picture"
    OLD_FILE = "old_file"


_KEPT_BECAUSE = {
    KeptBecause.OLD_FILE: (
        "It is of a version that Docmill's readers don't know, or it is damaged.",
        "If it opens on your computer, save it as DOCX, XLSX, PPTX or PDF there, and upload that.",
    ),
    KeptBecause.OCR_OFF: (
        "Pictures are not read on this installation, since OCR is off.",
        "Once it is on, or a service such as Azure Document Intelligence has been set up, choose Reprocess.",
    ),
    KeptBecause.NO_SPEECH_SERVICE: (
        "Nothing on this installation writes down what is said in recordings.",
        "A service for speech does that: once one has been set up, choose Reprocess.",
    ),
    KeptBecause.ARCHIVE: (
        "Docmill does not look into archives of this kind.",
        "To have the files in it read, unpack it on your computer, pack them as a ZIP archive, and upload that.",
    ),
    KeptBecause.NO_READER: (
        "Docmill has no reader for this format.",
        "To have its text found, export it as a PDF or as plain text, and upload that.",
    ),
    KeptBecause.NOT_TRIED_YET: (
        "When it was uploaded, nothing on this installation read files of this kind.",
        "By now something does: choose Reprocess.",
    ),
    KeptBecause.PICTURE: (
        "No text was read on it.",
        "If OCR was off when it was uploaded, choose Reprocess. Small or blurred letters need a better picture.",
    ),
}


def kept(because: KeptBecause, label: str) -> Sentence:
    """What a file is, why it is kept and not read, and what would read it."""
    explanation, remedy = _KEPT_BECAUSE[because]
    return Sentence(f"This is {with_article(label)}", explanation, remedy)


@dataclass(frozen=True)
class UploadRefusal:
    """Why an upload was refused: an HTTP status, a title, and a sentence."""

    status: int
    title: str
    detail: str


_REFUSALS = {
    RefusalCode.EMPTY: UploadRefusal(422, "The file is empty", "There is nothing in it to read."),
    RefusalCode.TOO_LARGE: UploadRefusal(413, "The file is too large", "Files may be up to {limit} here."),
    RefusalCode.ORG_FULL: UploadRefusal(
        413,
        "There is no space left for your organisation",
        "Its files may take {limit} together. Delete some that are not needed, or ask the person who runs Docmill for "
        "more.",
    ),
    RefusalCode.MISMATCH: UploadRefusal(
        415, "The file is not what its name says", "By its content it is {a_label}. Rename it, or export it anew."
    ),
}
NO_FILE = UploadRefusal(422, "No file was sent", "Choose at least one file. Programs send it as a part named “file”.")
BROKEN_FORM = UploadRefusal(
    400,
    "What was sent could not be read",
    "Nothing was added. It broke off, or the name of a file in it is not written in UTF-8. Please send it again.",
)
REQUEST_TOO_LARGE = UploadRefusal(
    413,
    "That is too much at once",
    "Nothing was stored: all files together may be up to {limit}. Send fewer at a time.",
)
STORAGE_FULL = UploadRefusal(
    507, "There is no room left", "Nothing was stored. The person who runs Docmill needs to free disk space."
)


def refusal(code: RefusalCode, data: Mapping[str, Any]) -> UploadRefusal:
    """The refusal for a code, with the file's details filled in."""
    found = _REFUSALS[code]
    label = str(data.get("label") or "something else")
    limit = filesize(int(data.get("bytes_max") or 0))
    values = {"limit": limit, "a_label": with_article(label)}
    return UploadRefusal(found.status, found.title, found.detail.format(**values))


_SPOKEN_WITH_VOWEL = ("MP", "SV", "SQ", "HT", "RT", "FL", "XM", "xz")


def with_article(label: str) -> str:
    """What people call one such file, with "a" or "an" where there is one."""
    if label.endswith("text") or label.startswith("something"):
        return label
    # "an EPUB book", "an SVG image", "an MP3 recording", but "a UTF-8 file".
    starts_with_vowel = label[0] in "aeioAEIO" or label.startswith(_SPOKEN_WITH_VOWEL)
    return f"{'an' if starts_with_vowel else 'a'} {label}"
