"""The kinds of recordings that are read, and the one demuxer that may read each.

The demuxer is never guessed: of those that FFmpeg has, some follow addresses that stand in the
file (HLS, concat, DASH), and a name or a first line must not choose one of them.
"""

DEMUXERS = {
    "audio/wav": "wav",
    "audio/mpeg": "mp3",
    "audio/mp4": "mov",
    "video/mp4": "mov",
    "video/quicktime": "mov",
    "audio/ogg": "ogg",
    "audio/flac": "flac",
    "audio/amr": "amr",
    "audio/aac": "aac",
    "audio/aiff": "aiff",
    "video/x-matroska": "matroska",
    "video/x-msvideo": "avi",
}
# Those that say in their header how long they are; of the others FFmpeg only estimates it.
EXACT = frozenset({"wav", "mov", "ogg", "flac", "aiff", "matroska", "avi"})
