"""How many claims may wait for a job at once."""

import pytest

from webapp.web.long_polls import LongPolls


@pytest.mark.parametrize(("threads", "waiting"), [(1, 0), (4, 1), (32, 8)])
def test_no_more_than_a_quarter_of_the_threads_wait(threads: int, waiting: int) -> None:
    polls = LongPolls(threads)
    assert [polls.take() for _ in range(waiting + 1)] == [True] * waiting + [False]
    if waiting:
        polls.give_back()
        assert polls.take()
