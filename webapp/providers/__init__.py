"""Everything that works outside this process's own rows: blobs, extraction, embeddings.

`ports` and `speech_ports` say what each role promises, `webapp.provider_errors` how it fails. A vendor's
implementations have a folder of their own; what several vendors share lies here. Only `webapp.wiring` names the
concrete classes.
"""
