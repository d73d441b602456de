"""Docmill: a pile of files becomes something a person can search, read and trust.

The packages, from top to bottom; imports go downward only. docs/architecture.md draws them and says what each does.

app, web, worker                     the application, its pages, the processes that run jobs
client                               the command docmill, which uses the HTTP API
pipeline, wiring, library, runs      stages and steps, the choice of providers, documents for people, the life of runs
services, search, jobs, providers    the index, the queue, what could be bought elsewhere
readers, sandbox                     a file's bytes -> Extraction, in child processes
documents, accounts, db, config      tables, orgs and people, transactions, settings
"""
