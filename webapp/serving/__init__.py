"""How gunicorn listens and waits for clients. Its first process imports this package and the settings, nothing else.

All other processes are forked from that one. Code that it has imported would not be reloaded, and a library that
starts threads on import would leave its locks, without the threads, to the others.
"""
