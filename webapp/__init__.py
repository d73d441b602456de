"""Docmill: a pile of files becomes something a person can search, read and trust.

The rooms, from the street door down to the cellar (imports go downward only):

app         create_app(settings): database, providers, pages, error pages
web/        the HTTP room: pages, fragments, JSON, access
worker/     claims jobs and brings each attempt to exactly one outcome
pipeline/   what happens to a document, step by step
wiring      settings -> providers: the only file that names concrete classes
search/     write and read the index: words and vectors
jobs/       the letterbox: it knows ids and stages, never documents
providers/  blobs, extraction, embeddings: ports and their implementations
documents/  documents, their runs and events: what is known, and the rules that guard it
accounts/   orgs, users, tokens, roles
db          transactions, column types
config      every setting; clock: the present time and new ids
serving/    what gunicorn's first process reads of ours: nothing that its workers should not inherit
"""
