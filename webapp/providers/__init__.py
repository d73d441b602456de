"""Everything that works outside this process's own rows: blobs, extraction, embeddings.

`ports` says what each role promises, `errors` how it fails; every other module is one
implementation or a part of one. Only `webapp.wiring` names the concrete classes.
"""
