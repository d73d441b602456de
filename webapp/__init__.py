"""Docmill: a pile of files becomes something a person can search, read and trust.

The rooms, from the street door down to the cellar (imports go downward only):

app         create_app(settings): database, providers, pages, error pages
web/        the HTTP room: pages, fragments, JSON, access
worker/     claims jobs and brings each attempt to exactly one outcome
pipeline/   what happens to a document, step by step
wiring      settings -> providers: the only file that names concrete classes
search/     write and read the index: words and vectors
jobs/       the queue: jobs, leases, the claim, limits and pauses of stages
providers/  blobs, extraction, embeddings: ports and their implementations, a folder a vendor
readers/    a file's bytes -> Extraction, a folder a kind of file
sandbox/    the child processes that readers run in
documents/  documents, their runs and events: what is known, and the rules that guard it
accounts/   orgs, users, tokens, roles
db          transactions, column types
config      every setting; clock: the present time and new ids
typed_json  plain data that is stored as JSON; provider_errors  how providers, readers and the sandbox fail
serving/    what gunicorn's first process reads of ours: nothing that its workers should not inherit
"""
