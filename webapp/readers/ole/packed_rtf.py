"""The packed RTF that Outlook keeps texts in (MS-OXRTFCP)."""

from struct import unpack_from

from webapp.readers.office.rtf import text_of_rtf

UNPACKED_BYTES_MAX = 20 << 20
_PACKED, _PLAIN = b"LZFu", b"MELA"
_HEAD_BYTES, _WINDOW = 16, 4096
_FIRST = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript "
    b"\\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par "
    b"\\pard\\plain\\f0\\fs20\\b\\i\\u\\tab\\tx"
)


def text_of_packed_rtf(data: bytes) -> str:
    """The text of a packed body; empty where that is damaged. Of HTML that lies within it, what RTF readers show."""
    rtf = unpack(data)
    return text_of_rtf(rtf) if rtf else ""


def unpack(data: bytes) -> bytes:
    """The RTF itself, as far as it goes."""
    if len(data) < _HEAD_BYTES:
        return b""
    kind = data[8:12]
    if kind == _PLAIN:
        return data[_HEAD_BYTES:][:UNPACKED_BYTES_MAX]
    if kind != _PACKED:
        return b""
    return _unpacked(data, min(unpack_from("<I", data, 4)[0], UNPACKED_BYTES_MAX))


def _unpacked(data: bytes, size: int) -> bytes:
    """Single bytes, and references to those of the last 4096; a bit before each eight says which."""
    window, place = bytearray(_FIRST.ljust(_WINDOW, b"\0")), len(_FIRST)
    out, read = bytearray(), _HEAD_BYTES
    while read < len(data):
        control, read = data[read], read + 1
        for bit in range(8):
            is_reference = bool(control >> bit & 1)
            if read + is_reference >= len(data) or len(out) >= size:
                return bytes(out[:size])
            if not is_reference:
                offsets, read = [-1], read + 1
            else:
                found, read = int.from_bytes(data[read : read + 2], "big"), read + 2
                if found >> 4 == place:
                    return bytes(out[:size])
                offsets = [((found >> 4) + step) % _WINDOW for step in range((found & 0xF) + 2)]
            for offset in offsets:
                byte = data[read - 1] if offset < 0 else window[offset]
                window[place] = byte
                place = (place + 1) % _WINDOW
                out.append(byte)
    return bytes(out[:size])
