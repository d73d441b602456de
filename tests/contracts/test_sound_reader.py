"""What every SoundReader promises: any container becomes the same kind of sound, and a bad one a clear refusal."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from tests import sounds
from tests.emulators.speechkit import measure
from webapp.provider_errors import BadInput, BlobMissing, FailureCode, ParserCrashed, ProviderError, TimedOut
from webapp.providers.local.sound import AudioDecoder
from webapp.providers.speech_ports import Clip, Sound, SoundReader
from webapp.readers.filetypes import FILE_TYPES
from webapp.readers.sniff import HEAD_BYTES, sniff
from webapp.readers.sound.levels import waveform

Read = Callable[..., tuple[Sound, bytes]]


@pytest.fixture(scope="module", params=["local"])
def reader() -> Iterator[SoundReader]:
    reader = AudioDecoder(seconds_max=40)
    yield reader
    reader.close()


@pytest.fixture
def read(reader: SoundReader, tmp_path: Path) -> Read:
    def read(data: bytes, content_type: str = "audio/wav", timeout_seconds: float = 30) -> tuple[Sound, bytes]:
        source, target = tmp_path / "source", tmp_path / "sound.ogg"
        source.write_bytes(data)
        target.write_bytes(b"")
        told: list[float] = []
        sound = reader.read(source, content_type, target, timeout_seconds=timeout_seconds, progress=told.append)
        assert told == sorted(told)
        return sound, target.read_bytes()

    return read


def refusal(read: Read, data: bytes, content_type: str = "audio/wav") -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        read(data, content_type)
    return caught.value


@pytest.mark.parametrize("kind", sorted(sounds.KINDS))
def test_every_container_is_recognised_and_read(reader: SoundReader, read: Read, kind: str) -> None:
    data = sounds.encoded(kind, 4)
    content_type = sniff(data[:HEAD_BYTES], f"call.{kind}").content_type
    assert reader.accepts(content_type)
    sound, audio = read(data, content_type)
    assert sound.duration_seconds == pytest.approx(4, abs=0.15)
    assert (sound.channels, sound.warnings) == (1, ())
    seconds, channels = measure(audio)
    assert channels == 1
    assert seconds == pytest.approx(4, abs=0.15)


def test_its_title_comes_along(read: Read) -> None:
    assert read(sounds.encoded("m4a", 2, title=" Weekly\n call "), "audio/mp4")[0].title == "Weekly call"


def test_channels_stay_apart_only_where_each_is_a_speaker(read: Read) -> None:
    sound, audio = read(sounds.wav(sounds.two_speakers(12), channels=2))
    assert (sound.channels, measure(audio)[1]) == (2, 2)
    left, right = (np.frombuffer(sound.channel_levels(channel), np.uint8) for channel in (0, 1))
    assert left[2] > right[2]
    room, audio = read(sounds.wav(sounds.room(12), channels=2))
    assert (room.channels, measure(audio)[1]) == (1, 1)


def test_the_loudness_is_that_of_each_moment(read: Read) -> None:
    data = np.concatenate([sounds.babble(2), sounds.silence(2), sounds.babble(2)])
    sound, _ = read(sounds.wav(data))
    assert len(sound.levels) == 30
    bars = waveform(sound.levels, 1, 6)
    assert len(bars) == 6
    assert bars[2] == bars[3] == 0
    assert min(bars[0], bars[5]) > 40


def test_a_clip_lasts_as_long_as_it_should(reader: SoundReader, read: Read, tmp_path: Path) -> None:
    _, audio = read(sounds.wav(sounds.two_speakers(20), channels=2))
    source, target = tmp_path / "whole.ogg", tmp_path / "clip.ogg"
    source.write_bytes(audio)
    for clip, channels in ((Clip(5, 9), 2), (Clip(12.5, 19, 1), 1)):
        target.write_bytes(b"")
        reader.cut(source, clip, target, timeout_seconds=20)
        seconds, found = measure(target.read_bytes())
        assert found == channels
        assert seconds == pytest.approx(clip.end - clip.start, abs=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wav", "mp3", "mp4", "ogg", "flac"])
def test_what_breaks_off_says_so_or_is_refused(read: Read, kind: str) -> None:
    data = sounds.wav(sounds.babble(20)) if kind == "wav" else sounds.encoded(kind, 20)
    content_type = sniff(data[:HEAD_BYTES], f"a.{kind}").content_type
    if kind == "mp4":
        # Its table of contents is at the end.
        assert refusal(read, data[: len(data) // 2], content_type).code is FailureCode.CORRUPT
        return
    sound, _ = read(data[: len(data) // 2], content_type)
    assert sound.duration_seconds < 15
    # An MP3 or Ogg file that is cut is a shorter one: nothing in it says how long it was.
    assert bool(sound.warnings) == (kind in {"wav", "flac"})


@pytest.mark.parametrize("content_type", [each.content_type for each in FILE_TYPES if each.demuxer])
def test_noise_is_refused_whatever_it_is_called(read: Read, content_type: str) -> None:
    noise = np.random.default_rng(7).integers(0, 256, 60_000, np.uint8).tobytes()
    assert refusal(read, noise, content_type).code in {FailureCode.CORRUPT, FailureCode.EMPTY, FailureCode.NO_SOUND}


@pytest.mark.parametrize(
    "text",
    [
        b"#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile:///etc/passwd\n#EXT-X-ENDLIST\n",
        b"ffconcat version 1.0\nfile '/etc/passwd'\n",
        b'<?xml version="1.0"?><MPD><Period><BaseURL>http://127.0.0.1:9/</BaseURL></Period></MPD>',
    ],
    ids=["hls", "concat", "dash"],
)
@pytest.mark.parametrize("content_type", ["audio/mpeg", "video/mp4", "audio/wav"])
def test_a_playlist_is_no_recording(read: Read, text: bytes, content_type: str) -> None:
    assert isinstance(refusal(read, text * 40, content_type), BadInput)


def test_silence_and_nothing_have_names_of_their_own(read: Read) -> None:
    assert refusal(read, sounds.wav(sounds.silence(5))).code is FailureCode.SILENT
    assert refusal(read, sounds.wav(sounds.silence(0))).code is FailureCode.EMPTY
    assert refusal(read, b"").code is FailureCode.EMPTY
    assert refusal(read, sounds.encoded("mp4", 1, sound=False), "video/mp4").code is FailureCode.NO_SOUND
    assert refusal(read, b"%PDF-1.7", "application/pdf").code is FailureCode.UNSUPPORTED


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wav", "mp3"])
def test_what_is_too_long_is_refused(read: Read, kind: str) -> None:
    # One says so in its header, the other only while it is read.
    data = sounds.wav(sounds.babble(60)) if kind == "wav" else sounds.encoded(kind, 60)
    error = refusal(read, data, {"wav": "audio/wav", "mp3": "audio/mpeg"}[kind])
    assert (error.code, error.permanent) == (FailureCode.TOO_LONG, True)


def test_twelve_hours_are_refused_before_they_are_read(tmp_path: Path) -> None:
    source, target = tmp_path / "day.wav", tmp_path / "sound.ogg"
    header = sounds.wav(sounds.silence(0), rate=8_000)
    size = 12 * 3600 * 8_000 * 2
    with source.open("wb") as file:
        file.write(header[:4] + (size + 36).to_bytes(4, "little") + header[8:40] + size.to_bytes(4, "little"))
        file.truncate(44 + size)
    target.touch()
    reader = AudioDecoder()
    with pytest.raises(BadInput) as caught:
        reader.read(source, "audio/wav", target, timeout_seconds=40, progress=lambda _: None)
    reader.close()
    assert caught.value.code is FailureCode.TOO_LONG


def test_time_is_limited(read: Read) -> None:
    with pytest.raises(TimedOut):
        read(sounds.wav(sounds.babble(30)), timeout_seconds=0.01)


def test_a_file_that_is_gone_is_missing(reader: SoundReader, tmp_path: Path) -> None:
    target = tmp_path / "sound.ogg"
    target.touch()
    with pytest.raises(BlobMissing):
        reader.read(tmp_path / "gone", "audio/wav", target, timeout_seconds=5, progress=lambda _: None)


def test_it_writes_nowhere_else(reader: SoundReader, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_bytes(sounds.wav(sounds.babble(1)))
    absent = tmp_path / "absent" / "sound.ogg"
    with pytest.raises((ParserCrashed, BadInput)):
        reader.read(source, "audio/wav", absent, timeout_seconds=20, progress=lambda _: None)
