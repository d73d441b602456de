"""What gunicorn's first process reads of ours, beside the settings: small, since all others inherit it.

Code that it has read is not read again by those that follow, however it has changed; and a library
that starts threads when it is imported would leave the others its locks without the threads.
"""
