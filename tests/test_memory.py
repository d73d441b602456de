"""What was loaded when a process was ready is not looked through again."""

import gc

from webapp.serving.memory import keep_what_is_loaded


def test_what_is_loaded_is_kept_out_of_collections() -> None:
    keep_what_is_loaded()
    try:
        assert gc.get_freeze_count() > 10 * len(gc.get_objects())
    finally:
        gc.unfreeze()
