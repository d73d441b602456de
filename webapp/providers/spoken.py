"""The languages that people can choose for a recording, and what services call them."""

# Whisper base writes all of these down, some better than others; the order is that in which pages offer them.
SPOKEN = (
    "en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "tr", "ar", "zh", "ja", "bg", "ca", "cs", "da", "el",
    "et", "fa", "fi", "he", "hi", "hr", "hu", "id", "ko", "lt", "lv", "no", "ro", "sk", "sl", "sr", "sv", "th", "vi",
)  # fmt: skip
# Whoever sets no LANGUAGES: a guess among a few costs less than one among all.
USUAL = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk")
# SpeechKit's names with a country.
SPEECHKIT = {
    "de": "de-DE", "en": "en-US", "es": "es-ES", "fi": "fi-FI", "fr": "fr-FR", "he": "he-IL", "it": "it-IT",
    "nl": "nl-NL", "pl": "pl-PL", "pt": "pt-PT", "ru": "ru-RU", "sv": "sv-SE", "tr": "tr-TR",
}  # fmt: skip
