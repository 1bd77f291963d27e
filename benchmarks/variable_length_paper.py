"""What Tables 1 to 5 of Ifrim, Bakir & Weikum (KDD 2008) say, as read off a scan.

Columns: words and n = 1, 3, 5 and any, characters and the same (Table 3: characters only, the first four are empty). A
question mark: the scan leaves open which of two neighbouring columns a value belongs to. Times are minutes, F1 is in
percent.
"""

from __future__ import annotations

UNITS, LENGTHS = ("words", "characters"), ("1", "3", "5", "any")

#: Tables 1 to 3 (fixed parameters), by set.
FIXED_TEXT = {
    "IMDB": """
overall features              |    63623   838620  1922942        -      135    41433   704440        -
iterations, SVM               |      500     1130     1600        -      490     1721     2912        -
iterations, BBR               |      250      370      374        -       85      265      370        -
iterations, SLR               |      175      180      184      190      325      670      649      620
features in final model, BBR  |     3200     3750     4000        -       97     3000     4000        -
features in final model, SLR  |      120      130      135      135       47      440      420      420
running time, SVM             |      0.3        6       15        -      0.2      3.2       50        -
running time, BBR             |      0.3      2.2        4        -      0.1      2.4      8.4        -
running time, SLR             |     0.25      0.3     0.35     0.35      0.3      1.7      2.4      2.4
time for generating patterns  |        1      2.5      3.5        -        1        3        5        -
total time, SVM               |      1.3      6.5     18.5        -      1.2      6.2       55        -
total time, BBR               |      1.3      4.7      7.5        -      1.1      5.4     13.4        -
total time, SLR               |     0.25      0.3     0.35     0.35      0.3      1.7      2.4      2.4
micro-F1, SVM                 |    69.08   71.11?   70.71?        -    57.13    65.27    69.48        -
micro-F1, BBR                 |    67.54   68.21?   67.97?        -    56.32    65.21    67.10        -
micro-F1, SLR                 |    72.90   72.64?   72.89?    73.17    55.99    72.86    73.84    73.94
macro-F1, SVM                 |    69.08   71.13?   70.74?        -    57.16    65.27    69.48        -
macro-F1, BBR                 |    67.56   68.24?   68.02?        -    56.43    65.21    67.08        -
macro-F1, SLR                 |    72.95   72.72?   72.94?    73.28    56.09    72.90    73.89    74.00
""",
    "AMAZON": """
overall features              |    55764  1036693  2454205        -       95    50422   700993        -
iterations, SVM               |      479     1089     1722        -      592     1578     2597        -
iterations, BBR               |      270      390      386        -       77      259      320        -
iterations, SLR               |       87       93       95       98      216      347     318?     294?
features in final model, BBR  |     1000     1250     1329        -       79     1157     1332        -
features in final model, SLR  |       75       83       77       86       43      258     259?     243?
running time, SVM             |      0.2        6       24        -      0.5      2.5       55        -
running time, BBR             |      0.4      2.7      5.4        -     0.05     2.75      9.6        -
running time, SLR             |     0.13     0.16     0.18      0.2     0.26     0.95      1.3      1.5
time for generating patterns  |      0.1        1        4        -        1        5        8        -
total time, SVM               |      0.3        7       28        -      1.5      7.5       63        -
total time, BBR               |      0.5      3.7      9.4        -     1.05     7.75     17.6        -
total time, SLR               |     0.13     0.16     0.18      0.2     0.26     0.95      1.3      1.5
micro-F1, SVM                 |    81.75    80.42    78.05        -    39.01    79.09    81.88        -
micro-F1, BBR                 |    79.08    79.23    80.13        -    42.70    78.37    80.45        -
micro-F1, SLR                 |    82.13    81.80    82.15    81.89    43.73    82.75   83.90?   84.49?
macro-F1, SVM                 |    80.24    78.40    75.31        -    30.93    77.37    80.52        -
macro-F1, BBR                 |    77.49    77.50    78.58        -    39.82    76.75    78.92        -
macro-F1, SLR                 |    80.64    80.30    80.65    80.40    40.92    81.31   82.52?   83.20?
""",
    "CHINESE": """
overall features              |        -        -        -        -     4961  1588488  6107182        -
iterations, SVM               |        -        -        -        -      146      116      148        -
iterations, BBR               |        -        -        -        -      223      222      226        -
iterations, SLR               |        -        -        -        -      187      184      184      184
features in final model, BBR  |        -        -        -        -      551      687      701        -
features in final model, SLR  |        -        -        -        -      120      131      131      131
running time, SVM             |        -        -        -        -      0.1      1.5        5        -
running time, BBR             |        -        -        -        -      0.5      4.4       11        -
running time, SLR             |        -        -        -        -     0.25      0.5      0.5      0.5
time for generating patterns  |        -        -        -        -        1        5        9        -
total time, SVM               |        -        -        -        -      1.1      6.5       14        -
total time, BBR               |        -        -        -        -      1.5      6.9       20        -
total time, SLR               |        -        -        -        -     0.25      0.5      0.5      0.5
micro-F1, SVM                 |        -        -        -        -    72.82    80.93    78.96        -
micro-F1, BBR                 |        -        -        -        -    73.18    76.65    76.85        -
micro-F1, SLR                 |        -        -        -        -    77.39    78.87    78.87    78.87
macro-F1, SVM                 |        -        -        -        -    73.29    80.66    78.60        -
macro-F1, BBR                 |        -        -        -        -    73.74    77.43    77.52        -
macro-F1, SLR                 |        -        -        -        -    77.69    78.54    78.54    78.54
""",
}

#: Table 4 (tuned parameters), by set.
TUNED_TEXT = {
    "IMDB": """
micro-F1, SVM                 |    69.21    71.11    71.22        -    57.47    65.65    70.41        -
micro-F1, BBR                 |    73.70    73.58    73.92        -    56.97    73.54    74.71        -
micro-F1, SLR                 |    74.02    73.74    73.70    73.86    58.44    73.82    74.44    74.87
macro-F1, SVM                 |    69.21    71.13    71.24        -    57.47    65.66    70.43        -
macro-F1, BBR                 |    73.76    73.63    73.94        -    57.07    73.56    74.72        -
macro-F1, SLR                 |    74.04    73.77    73.72    73.91    58.43    73.89    74.47    74.88
""",
    "AMAZON": """
micro-F1, SVM                 |    82.09    80.60    78.49        -    39.32    79.14    81.88        -
micro-F1, BBR                 |    84.58    84.14    83.99        -    43.62    82.98    84.21        -
micro-F1, SLR                 |    84.22    83.64    83.75    83.57    45.54    83.05    84.21    84.27
macro-F1, SVM                 |    80.68    78.54    75.79        -    34.91    77.47    80.52        -
macro-F1, BBR                 |    83.44    82.95    82.81        -    40.62    81.77    82.97        -
macro-F1, SLR                 |    83.16    82.43    82.55    82.30    42.61    81.78    82.94    83.01
""",
    "CHINESE": """
micro-F1, SVM                 |        -        -        -        -    72.82    80.93    78.96        -
micro-F1, BBR                 |        -        -        -        -    78.36    78.88    78.58        -
micro-F1, SLR                 |        -        -        -        -    76.18    78.71    78.30    79.17
macro-F1, SVM                 |        -        -        -        -    73.29    80.66    78.60        -
macro-F1, BBR                 |        -        -        -        -    78.17    79.63    79.36        -
macro-F1, SLR                 |        -        -        -        -    76.09    79.35    79.06    79.75
""",
}

#: Table 5, by set, method, unit and side: features and weights. Blanks between the letters of an n-gram of characters
#: are left out, so that those within it are lost.
TOP_TEXT = """
IMDB SLR words positive | crime 0.139 police 0.125 detective 0.105 murder 0.077 gang 0.068
IMDB SLR words negative | school 0.057 war 0.05 family 0.049 love 0.046 her 0.035
IMDB SLR characters positive | urde 0.04 gang 0.039 olice 0.038 crim 0.034 bos 0.021
IMDB SLR characters negative | lov 0.02 tion 0.015 rin 0.013 choo 0.011 ld 0.011
IMDB BBR words positive | has␣done 9.673 postwar 8.348 extortion 7.631 recorded 7.562 dependent␣on 7.203
IMDB BBR words negative | a␣wild 8.094 his␣way␣to 7.803 is␣the␣owner 6.888 life␣in 6.624 onto␣his 6.419
IMDB BBR characters positive | chtot 3.244 bw 3.238 aar 3.217 byon 3.077 eBo 2.956
IMDB BBR characters negative | chun 3.15 abro 2.635 atser 2.289 thern 2.278 inist 2.262
AMAZON SLR words positive | species 0.093 human 0.086 biological 0.081 biology 0.074 ecology 0.072
AMAZON SLR words negative | physics 0.092 mathematics 0.084 theory 0.077 mathematical 0.071 statistics 0.057
AMAZON SLR characters positive | Bio 0.064 olo 0.06 bio 0.048 pecie 0.046 iolog 0.045
AMAZON SLR characters negative | emat 0.076 ics 0.06 heor 0.043 sic 0.031 Mat 0.03
AMAZON BBR words positive | which␣they␣can 8.148 ecology 7.484 biochemistry 7.108 bioinformatics 7.067 ecological 6.542
AMAZON BBR words negative | calculus 6.1 physics 5.402 stars 5.106 geometry 4.623 chaos 4.408
AMAZON BBR characters positive | Ecol 3.05 iol 2.478 colo 2.301 Bi 2.273 nim 2.153
AMAZON BBR characters negative | Mat 2.792 Stati 2.667 Te 2.334 Math 2.144 alcu 1.797
"""


def table(text: str) -> dict[str, dict[tuple[str, str], str]]:
    """Values as they are written, by row, and by unit and n."""
    columns = [(unit, n) for unit in UNITS for n in LENGTHS]
    rows = (line.split("|") for line in text.strip().splitlines())
    return {name.strip(): dict(zip(columns, values.split(), strict=True)) for name, values in rows}


FIXED = {name: table(text) for name, text in FIXED_TEXT.items()}
TUNED = {name: table(text) for name, text in TUNED_TEXT.items()}
TOP = {
    tuple(key.split()): value.strip()
    for key, value in (line.split("|") for line in TOP_TEXT.strip().splitlines())
}  # fmt: skip


def number(value: str) -> float:
    """A value without its question mark."""
    return float(value.rstrip("?"))
