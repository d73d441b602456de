"""What could be bought elsewhere: blobs, extraction, embeddings, speech, analysis.

`ports` and `speech_ports` say what each role promises, `webapp.provider_errors` how it fails. A vendor's
implementations have a folder of their own; what several vendors share lies here. Only `webapp.wiring` names the
concrete classes.
"""
