"""How much is measured, and how the figures are printed."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench._peers import PEERS, Peer, peer

OURS = "docmill"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    jobs: int
    rounds: int
    pickups: int
    crowd: int
    claims: int
    bulk: int


QUICK = Size(jobs=5_000, rounds=1, pickups=100, crowd=100_000, claims=100, bulk=10_000)
FULL = Size(jobs=20_000, rounds=3, pickups=300, crowd=1_000_000, claims=300, bulk=100_000)


def installed() -> Iterator[tuple[str, Peer]]:
    """The queues that can be measured here."""
    for name in PEERS:
        found = peer(name)
        if found is None:
            print(f"  {name:<14} not installed: pip install -r bench/_peers/requirements.txt")
        else:
            yield name, found


def report(what: str, rates: dict[str, float], unit: str = "/s") -> None:
    """Each queue's figure, and how many times its figure ours is."""
    for name, rate in rates.items():
        ratio = f"   ours is {rates[OURS] / rate:.2f} x this" if OURS in rates and name != OURS else ""
        print(f"  {what:<28} {name:<14} {rate:>10,.{0 if rate >= 100 else 2}f}{unit}{ratio}", flush=True)


def milliseconds(what: str, seconds: list[float]) -> float:
    """Print the middle and the slowest but for one in a hundred; the middle."""
    ordered = sorted(second * 1000 for second in seconds)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(f"  {what:<43} p50 {middle:>7.2f} ms   p99 {late:>7.2f} ms", flush=True)
    return middle
