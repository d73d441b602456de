"""A worker process of one of the queues: `python -m bench._peers.worker NAME URL`."""

import sys

from bench._peers import peer

if __name__ == "__main__":
    found = peer(sys.argv[1])
    assert found is not None
    found.work(sys.argv[2])
