"""Words that say nothing about a subject, in the languages of questions; PostgreSQL and SQLite get only the others."""

import re
from collections.abc import Sequence

from webapp.readers.small_words import SMALL_WORDS

ENGLISH = frozenset(
    re.findall(
        r"\w+",
        "a about an and are as at be been but by can did do does for from had has have how i if in into is it its me "
        "my no not of on or our she so that the their them then there these they this to was we were what when where "
        "which who why will with would you your",
    )
)
# Beside the small words of texts those of questions.
_ASKING = {
    "de": "wie was wer wo wann warum wieso welche welcher welches kann können ich es gibt man mein meine hat",
    "es": "cómo qué quién dónde cuándo cuál cuáles puedo puede hay mi son",
    "fr": "comment quoi qui où quand pourquoi quel quelle quels quelles puis peut je mon ma mes ce y a t c j n s d l",
    "it": "come cosa chi dove quando perché quale quali posso può ho mio mia",
    "nl": "hoe wat wie waar wanneer waarom welke kan ik mijn",
    "pl": "jak co kto gdzie kiedy dlaczego który mogę mój czy",
    "pt": "como que quem onde quando qual quais posso pode há meu minha",
    "ru": "как что кто где когда почему зачем какой какая какие какое можно ли мне я мой моя чем есть нужно этот эта",
    "uk": "як що хто де коли чому який яка які можна чи мені я мій є",
}
_OTHERS = {
    language: frozenset(f"{small} {_ASKING.get(language, '')}".split())
    for language, small in SMALL_WORDS.items()
    if language != "en"
}
_CYRILLIC = _OTHERS["ru"] | _OTHERS["uk"]
# In questions of another language so many are needed: "MIT" is a German word, too.
_LEAST = 2


def common_among(words: Sequence[str]) -> frozenset[str]:
    """The words of a question's language that say nothing; of English ones, where it is not plain which it is."""
    own = {language: len(common.intersection(words)) for language, common in _OTHERS.items()}
    language = max(own, key=lambda each: own[each])
    is_other = own[language] >= _LEAST and own[language] > len(ENGLISH.intersection(words))
    return (_OTHERS[language] if is_other else ENGLISH) | _CYRILLIC
