"""Sources: folders and mailboxes that are polled for new documents.

lease.py        which process polls a source, and that no other one writes meanwhile
ledger.py       what became of each file or message: a row before anything is done with it
places.py       what every kind of source can do; opens one by its kind
folder.py       a watched folder
mailbox.py      a mailbox on an IMAP server (imap_client.py speaks to it, addresses.py says where it may be)
maildir.py      a Maildir
taking.py       one item goes into the library
polling.py      one poll, from the lease to its end
registry.py     sources are made, changed, paused and deleted
"""
