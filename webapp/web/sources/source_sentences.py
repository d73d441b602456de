"""What the troubles of a source and the reasons of its items mean for a person: tables from codes to sentences."""

from collections.abc import Mapping

TROUBLES: Mapping[str, str] = {
    "folder_not_allowed": "This folder may not be watched. The person who runs Docmill allows folders by the setting "
    "SOURCE_FOLDERS.",
    "folder_missing": "The folder is not there: it was moved or deleted, a link leads to it, or the network drive is "
    "not connected.",
    "folder_unreadable": "Docmill may not read the folder. Give its user the right to.",
    "not_maildir": "The folder is no Maildir: it has no folders new and cur, or Docmill may not read them.",
    "host_unknown": "There is no server of this name. Check its spelling.",
    "host_private": "This server has an address of a private network or of this machine. The person who runs Docmill "
    "allows such servers by the setting SOURCE_PRIVATE_HOSTS.",
    "plain_refused": "Without encryption, the password could be read on its way. That is allowed on the same machine "
    "alone: choose TLS or STARTTLS.",
    "server_unreachable": "The mail server can't be reached. Check its name and port; it is tried again.",
    "server_lost": "The mail server ended the connection or did not answer in time. It is tried again.",
    "server_refused": "The mail server refused a request, or what answers is no mail server.",
    "certificate": "The certificate of the mail server can't be trusted: it is for another name, has expired, or "
    "nobody known has signed it.",
    "tls_failed": "No encrypted connection could be made. Check the port and whether the server uses TLS or STARTTLS.",
    "login_refused": "The mail server refused the user name or the password. Some providers need a password for apps.",
    "secret_lost": "The password can't be read any more, since SECRET_KEY has changed. Give it again.",
    "mailbox_missing": "There is no such folder in the mailbox.",
    "too_many_files": "There are more than 100,000 files in the folder. The others are not looked at: let files be "
    "moved or deleted once they are taken, or watch several folders.",
    "cant_move": "Something was taken but can't be moved or marked. Docmill needs the right to change the folder.",
    "cant_delete": "A file was taken but can't be deleted. Docmill needs the right to write to the folder.",
    "storage_full": "The file store is full. Nothing is lost: files wait, and are taken when there is room.",
    "storage_away": "The file store takes no files right now. They wait, and are taken when it does.",
    "org_full": "Your organisation has stored as much as it may. Files wait, and are taken when there is room.",
    "not_polled": "It is due, but no process polls it: no worker is running, or its folder is not in the setting "
    "SOURCE_FOLDERS of those that are.",
    "unexpected": "The last poll ended with an error in Docmill, which is in its log. It is tried again.",
}
REASONS: Mapping[str, str] = {
    "new": "It is taken soon; a file once it does not change any more.",
    "changed": "It has just changed. It is taken once it does not change any more.",
    "unreadable": "It can't be read: its permissions forbid it, or another program has locked it.",
    "server_lost": "The mail server ended the connection while it was fetched. It is tried again.",
    "storage_full": "The file store is full. It is tried again.",
    "storage_away": "The file store takes no files right now. It is tried again.",
    "org_full": "Your organisation has stored as much as it may. It is tried again.",
    "unexpected": "An error in Docmill, which is in its log, kept it from being taken or settled. It is tried again.",
    "hidden": "Its name begins with a dot, as those of hidden files do.",
    "temporary": "By its name it is a temporary file, or one that is still being downloaded.",
    "empty": "It is empty.",
    "link": "It is a link. Links are not followed, since they may lead out of the folder.",
    "no_file": "It is no ordinary file.",
    "too_deep": "It lies in more than 20 folders.",
    "taken_folder": "In a folder of this name lie files that were moved there once they were taken.",
    "too_large": "It is larger than a file may be here.",
    "mismatch": "It is text under the name of another kind of file: often the page that says why a download failed.",
    "gone": "It was gone before it could be taken.",
    "known": "The library had the same file already.",
    "restored": "The library had the same file in its bin, and it was restored.",
    "cant_move": "It was taken but can't be moved. That is tried again.",
    "cant_delete": "It was taken but can't be deleted. That is tried again.",
}


def trouble_sentence(code: str | None) -> str | None:
    """The sentence of a trouble; the code itself where a newer version has written it."""
    return TROUBLES.get(code, code) if code else None


def reason_sentence(code: str | None) -> str | None:
    """The sentence of a reason, in the same way."""
    return REASONS.get(code, code) if code else None
