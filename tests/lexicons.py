"""Lexical resources of a few words, in the formats of the real ones."""

from __future__ import annotations

from pathlib import Path

# A small WordNet: boats, and weights. The first line is a licence.
NOUNS = """\
  1 Made for the tests.
00000101 03 n 01 thing 0 000 | anything
00000102 03 n 01 vessel 0 001 @ 00000101 n 0000 | a thing to hold others
00000103 03 n 02 boat 0 small_ship 0 002 @ 00000102 n 0000 + 00000101 v 0101 | a vessel that floats
00000104 03 n 01 canoe 0 001 @ 00000103 n 0000 | a boat with a paddle
00000105 03 n 01 Argo 0 001 @i 00000103 n 0000 | the boat of a tale
00000106 03 n 01 light 0 000 | what a lamp gives
00000107 03 n 02 light 1 lamp 0 000 | what gives light
"""
VERBS = """\
00000101 30 v 01 boat 0 001 + 00000103 n 0101 01 + 02 00 | go by boat
00000102 30 v 02 light 0 kindle 0 000 02 + 08 00 + 09 00 | make a flame
"""
ADJECTIVES = """\
00000101 00 a 01 light 0 001 ! 00000102 a 0101 | easy to lift
00000102 00 a 02 heavy 0 weighty(p) 1 002 ! 00000101 a 0101 & 00000103 a 0000 | hard to lift
00000103 00 s 01 leaden 0 001 & 00000102 a 0000 | heavy as lead
"""
ADVERBS = """\
00000101 02 r 01 lightly 0 001 \\ 00000101 a 0101 | in a light way
"""
WNDB = {
    "data.noun": NOUNS,
    "data.verb": VERBS,
    "data.adj": ADJECTIVES,
    "data.adv": ADVERBS,
    "index.noun": """\
  1 Made for the tests.
argo n 1 1 @i 1 0 00000105
boat n 1 2 @ + 1 1 00000103
canoe n 1 1 @ 1 0 00000104
lamp n 1 0 1 0 00000107
light n 2 0 2 1 00000106 00000107
small_ship n 1 1 @ 1 0 00000103
thing n 1 0 1 0 00000101
vessel n 1 1 @ 1 0 00000102
""",
    "index.verb": """\
boat v 1 1 + 1 0 00000101
kindle v 1 0 1 0 00000102
light v 1 0 1 0 00000102
""",
    "index.adj": """\
heavy a 1 2 ! & 1 0 00000102
leaden a 1 1 & 1 0 00000103
light a 1 1 ! 1 0 00000101
weighty a 1 1 & 1 0 00000102
""",
    "index.adv": "lightly r 1 1 \\ 1 0 00000101\n",
    "verb.exc": "lit light\n",
}

SENTIMENT = """\
# A small table.
a\t00000001\t0.75\t0\tgrand#1 fine#2\tof the first rank; "a grand day"
s\t00000002\t0.25\t0.25\tfine#1\tthin
n\t00000003\t0\t0.5\tfine#1\tto be paid
a\t00000004\t0\t1\tgrim#1 ill-made#1\tdark
v\t00000005\t0\t0.625\tlet_down#1\tdisappoint
n\t00000006\t0\t0\tday#1\tfrom dawn to dusk
#\t\t\t\t\t
"""


def write_wordnet(folder: Path) -> Path:
    """Write the files of a WordNet into a folder."""
    for name, text in WNDB.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def write_sentiwordnet(folder: Path) -> Path:
    """Write a SentiWordNet into a folder."""
    file = folder / "SentiWordNet_3.0.0.txt"
    file.write_text(SENTIMENT, encoding="utf-8")
    return file
