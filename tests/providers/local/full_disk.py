"""A program that fills what it may write, as a full disk would stop it, and tells what is left."""

import resource
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))

from webapp.provider_errors import ProviderUnavailable
from webapp.providers.local.blob import LocalBlobStore

ALLOWED = 100_000


def fill(folder: Path, act: str) -> str:
    store = LocalBlobStore(folder / "blobs")
    elsewhere = Path("/dev/shm") / f"docmill-full-{folder.name}"  # noqa: S108 - another filesystem, so that it is copied
    elsewhere.write_bytes(b"x" * ALLOWED * 3)
    resource.setrlimit(resource.RLIMIT_FSIZE, (ALLOWED, ALLOWED))
    try:
        if act == "put":
            store.put_bytes("a/b", b"x" * ALLOWED * 3)
        else:
            store.put_file("a/b", elsewhere)
    except ProviderUnavailable as error:
        return f"{error.code} blobs={len(list(store.list()))} drafts={len(list(store.incoming().iterdir()))}"
    finally:
        elsewhere.unlink()
    return "it was taken"


if __name__ == "__main__":
    sys.stdout.write(fill(Path(sys.argv[1]), sys.argv[2]) + "\n")
