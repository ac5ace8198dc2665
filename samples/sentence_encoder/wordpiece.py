"""WordPiece as BERT has it, from a tokenizer.json; standard library only."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator

LONGEST_WORD = 100
CJK = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip


class WordPiece:
    """`encode` makes token ids of a text, [CLS] and [SEP] around them."""

    def __init__(self, tokenizer_json: bytes) -> None:
        told = json.loads(tokenizer_json)
        self._ids: dict[str, int] = told["model"]["vocab"]
        self._unknown = self._ids[told["model"]["unk_token"]]
        self._prefix: str = told["model"]["continuing_subword_prefix"]
        self._lowercase: bool = told["normalizer"]["lowercase"]

    def encode(self, text: str, longest: int = 512) -> list[int]:
        """At most `longest` ids; the end of a longer text is cut off."""
        ids = [i for word in words(text, self._lowercase) for i in self._pieces(word)]
        return [self._ids["[CLS]"], *ids[: longest - 2], self._ids["[SEP]"]]

    def _pieces(self, word: str) -> list[int]:
        """The longest piece of the vocabulary that the word begins with, then that of the rest."""
        found: list[int] = []
        start = 0
        while start < len(word):
            prefix = self._prefix if start else ""
            ends = range(len(word), start, -1)
            end = next((e for e in ends if prefix + word[start:e] in self._ids), None)
            if end is None or len(word) > LONGEST_WORD:
                return [self._unknown]
            found.append(self._ids[prefix + word[start:end]])
            start = end
        return found


def words(text: str, lowercase: bool) -> Iterator[str]:
    """Words, and each mark of punctuation and each Chinese character by itself; lower case comes without accents."""
    spaced = "".join(_spaced(c) for c in text)
    if lowercase:
        spaced = "".join(c for c in unicodedata.normalize("NFD", spaced) if unicodedata.category(c) != "Mn").lower()
    for chunk in spaced.split():
        word = ""
        for c in chunk:
            if not _is_punctuation(c):
                word += c
                continue
            if word:
                yield word
            yield c
            word = ""
        if word:
            yield word


def _spaced(c: str) -> str:
    if c in "\t\n\r" or unicodedata.category(c) == "Zs":
        return " "
    if c in "\0\ufffd" or unicodedata.category(c).startswith("C"):
        return ""
    return f" {c} " if any(low <= ord(c) <= high for low, high in CJK) else c


def _is_punctuation(c: str) -> bool:
    return (c.isascii() and c.isprintable() and not c.isalnum() and c != " ") or unicodedata.category(c).startswith("P")
