# ruff: noqa: RUF001 - letters of other alphabets are the point here
"""Small words of ten languages, and a modest guess: which language's small words a text is full of.

It needs no model, so children use it to see whether letters were read rightly. `language` names languages.
"""

import re
from collections import Counter

SAMPLE_CHARACTERS = 20_000
WORDS_MIN = 30
SHARE_MIN = 0.12
LEAD_MIN = 1.4

# The words that carry grammar; shared ones count for each language that has them.
SMALL_WORDS = {
    "en": "the of and to in is that for it was with as be on by this are from not or have which at an you",
    "de": "der die und das in den von zu ist mit nicht des dem ein eine auf für im sich als auch werden wird bei",
    "fr": "le la les de des et en un une du que est pour dans qui par sur pas au plus ce ne sont avec il",
    "es": "el la los las de y en que un una por con para es se del al no su como más lo pero sus",
    "it": "il la di e che in un una per con non del della si da i le sono come anche nel alla ha dei",
    "pt": "o a os as de e que do da em um uma para com não por se dos das mais como ao na no foi",
    "nl": "de het een van en in is dat op te voor met niet zijn aan er door ook als bij maar om worden naar",
    "pl": "i w na z do nie się że to jest od po o za przez jak dla tym są oraz ale być które ma",
    "ru": "и в не на что с по как к из это для от у за о так же но или при то его а все был",
    "uk": "і в не на що з та як до за це для від у про так або але при його був є й також які",
}
_WORDS = {language: frozenset(words.split()) for language, words in SMALL_WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+")


def guess_language(text: str) -> str | None:
    """Name the language by its two-letter code; None unless the text makes it plain."""
    words = _WORD.findall(text[:SAMPLE_CHARACTERS].lower())
    if len(words) < WORDS_MIN:
        return None
    counts = Counter(words)
    shares = {language: sum(counts[word] for word in small) / len(words) for language, small in _WORDS.items()}
    (first, best), (runner_up, second) = sorted(shares.items(), key=lambda item: -item[1])[:2]
    is_clear = best >= SHARE_MIN and best >= LEAD_MIN * second
    # "No." again and again makes no Portuguese: other languages' words have to be fewer, too, and not just rarer.
    return first if is_clear and _distinct(first, counts) >= LEAD_MIN * _distinct(runner_up, counts) else None


def _distinct(language: str, counts: Counter[str]) -> int:
    return len(_WORDS[language] & counts.keys())
