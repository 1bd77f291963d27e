// Reference scorer of exported models: plain JavaScript, the same as scorer.py. The format is described in
// docs/export.md of spacy-graft.
const SPACES = new Set("\t\n\v\f\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000");
const COMPLEMENTS = new Map([..."ACGTUacgtuRYKMBVDHrykmbvdh"].map((base, k) => [base, "TGCAAtgcaaYRMKVBHDyrmkvbhd"[k]]));
// The symbol of both ends of a document.
const END = "\x1e";
// A symbol that no n-gram has, and the key under which a trie has the number of an n-gram.
const BREAK = "", NUMBER = null;

class ExportedModel {
  constructor(model) {
    if (model?.format !== "spacy-graft" || model.version !== 3) {
      throw new Error("This is no model of format 'spacy-graft', version 3: export it again.");
    }
    this.model = model;
    this.letters = new Map(Object.entries(model.lowercase?.letters ?? {}));
    this.ngrams = model.blocks.map((block) => block.ngrams.map((ngram) => symbolsOfNgram(block, ngram)));
    this.tries = this.ngrams.map(reversedTrie);
  }

  // The score of each label for a document: a string, or bytes (Uint8Array or array of numbers).
  scores(document) {
    const model = this.model, found = this._found(document), totals = model.labels.map(() => 0);
    for (const [b, k] of found) {
      for (const [label, weight] of model.blocks[b].weights[k]) totals[label] += weight;
    }
    const value = this._value(document, found);
    return totals.map((total, label) => model.intercepts[label] + total * value - model.offset);
  }

  // The probability of each label.
  probabilities(document, scores = this.scores(document)) {
    if (this.model.exclusive) {
      const largest = scores.reduce((a, b) => Math.max(a, b));
      const exps = scores.map((score) => Math.exp(score - largest));
      const total = exps.reduce((a, b) => a + b);
      return exps.map((exp) => exp / total);
    }
    return scores.map((score) => {
      const small = Math.exp(-Math.abs(score));
      return (score >= 0 ? 1 : small) / (1 + small);
    });
  }

  // The most probable label; an array of labels if they do not exclude each other.
  predict(document, probabilities = this.probabilities(document)) {
    const { labels, exclusive, thresholds } = this.model;
    if (exclusive) return labels[probabilities.indexOf(probabilities.reduce((a, b) => Math.max(a, b)))];
    return labels.filter((_, k) => probabilities[k] >= thresholds[k]);
  }

  // The n-grams that the document has: block, number, value, and where they are, in characters (code points) or bytes.
  explain(document) {
    const found = this._found(document), value = this._value(document, found);
    const places = this.ngrams.map(() => new Map());
    for (const [b, k] of found) places[b].set(k, []);
    this._read(document).forEach(([symbols, at], b) => {
      for (let end = 0; end < symbols.length; end++) {
        let k = longest(this.tries[b], symbols, end);
        while (k !== null) {
          const ngram = this.ngrams[b][k], own = at.slice(end + 1 - ngram.length, end + 1);
          const bounds = own.reduce(([start, stop], place) => [Math.min(start, place[0]), Math.max(stop, place[1])]);
          places[b].get(k).push(bounds);
          k = longest(this.tries[b], ngram.slice(1), ngram.length - 2);
        }
      }
    });
    return found.map(([b, k]) => ({ block: b, ngram: k, value, places: places[b].get(k) }));
  }

  // Block and number of the n-grams of a document, in the order in which they are summed.
  _found(document) {
    const found = [];
    this._read(document).forEach(([symbols], b) => {
      const order = [], seen = new Set([null]);
      const add = (k) => {
        if (!seen.has(k)) seen.add(k), order.push(k);
      };
      for (let end = 0; end < symbols.length; end++) add(longest(this.tries[b], symbols, end));
      // It grows: the longest other n-gram at the end of each, of those that come too.
      for (const k of order) add(longest(this.tries[b], this.ngrams[b][k].slice(1), this.ngrams[b][k].length - 2));
      for (const k of order) found.push([b, k]);
    });
    return found;
  }

  // What each n-gram of a document counts: 1, or less in longer documents.
  _value(document, found) {
    const model = this.model;
    let length = 0;
    if (model.length === "none") return 1;
    if (model.length === "words") length = new Set(this._words(document)).size;
    else for (const [b, k] of found) length += model.blocks[b].lengths[k];
    return model.scale / Math.sqrt(Math.max(length, 1));
  }

  // The words that the length of a document counts: in lower case, between white space.
  _words(document) {
    if (typeof document === "string") {
      const [symbols] = this._lowered([...document]);
      return runsOfLetters(symbols).map(([a, b]) => symbols.slice(a, b).join(""));
    }
    const text = Array.from(document, (byte) => String.fromCharCode(byte)).join("");
    return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()).match(/[^\t-\r ]+/g) ?? [];
  }

  // The symbols of a document and their places, as each block sees them.
  _read(document) {
    return this.model.blocks.map((block) => {
      const [symbols, places] = this._readBlock(document, block);
      if (!block.ends || !symbols.length) return [symbols, places];
      const end = [...document].length;
      return [[END, ...symbols, END], [[0, 0], ...places, [end, end]]];
    });
  }

  // The symbols of a document and their places, as a block sees them between the ends.
  _readBlock(document, block) {
    const isText = typeof document === "string";
    if (block.symbols === "bytes") return readBytes(isText ? [...document].map(utf8) : Array.from(document, (byte) => [byte]));
    if (!isText) throw new Error("The model reads characters or words: the document must be a string, not bytes.");
    const text = [...document], letters = block.lowercase ? this._lowered(text) : [text, text.map((_, place) => place)];
    return block.symbols === "words" ? readWords(...letters, this.model.words) : readCharacters(...letters, block);
  }

  // The characters of a text in lower case, and where each of them is.
  _lowered(text) {
    const table = this.model.lowercase, symbols = [], places = [];
    text.forEach((character, place) => {
      const isSigma = character === "\u03a3" && table.cased;
      const letters = isSigma ? (endsWord(text, place, table) ? "\u03c2" : "\u03c3") : (this.letters.get(character) ?? character);
      for (const letter of letters) symbols.push(letter), places.push(place);
    });
    return [symbols, places];
  }
}

// The symbols of an n-gram: characters, words, or bytes that are written in hexadecimal digits.
function symbolsOfNgram(block, ngram) {
  if (block.symbols !== "bytes") return [...ngram];
  return ngram.match(/\x1e|../g).map((digits) => (digits === END ? END : parseInt(digits, 16)));
}

// The n-grams from their last symbol to their first.
function reversedTrie(ngrams) {
  const trie = new Map();
  ngrams.forEach((ngram, k) => {
    let node = trie;
    for (let at = ngram.length - 1; at >= 0; at--) {
      if (!node.has(ngram[at])) node.set(ngram[at], new Map());
      node = node.get(ngram[at]);
    }
    node.set(NUMBER, k);
  });
  return trie;
}

// The number of the longest n-gram of which symbols[end] is the last symbol; null if there is none.
function longest(trie, symbols, end) {
  let found = null;
  for (; end >= 0 && trie.has(symbols[end]); end--) {
    trie = trie.get(symbols[end]);
    found = trie.get(NUMBER) ?? found;
  }
  return found;
}

// Whether there is a cased letter before a sigma and none after it, apart from what is ignored.
function endsWord(text, place, table) {
  let before = place - 1, after = place + 1;
  while (before >= 0 && isIn(table.ignored, text[before])) before--;
  while (after < text.length && isIn(table.ignored, text[after])) after++;
  return before >= 0 && isIn(table.cased, text[before]) && !(after < text.length && isIn(table.cased, text[after]));
}

// Whether a character is in one of the ranges, first and last code points in turn.
function isIn(ranges, character) {
  const code = character.codePointAt(0);
  let from = 0, to = ranges.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (ranges[middle] < code) from = middle + 1;
    else to = middle;
  }
  return from % 2 === 1 || ranges[from] === code;
}

// Characters, and where they are.
function readCharacters(symbols, places, block) {
  const end = places.length ? places[places.length - 1] + 1 : 0;
  if (block.reverse_complement) {
    const complement = symbols.map((base) => COMPLEMENTS.get(base) ?? base).reverse();
    symbols = [...symbols, block.within_words ? " " : BREAK, ...complement];
    places = [...places, end, ...[...places].reverse()];
  }
  symbols = symbols.map((s) => (s === "\0" || (s.length === 1 && s >= "\ud800" && s <= "\udfff") ? BREAK : s));
  if (!block.within_words) return [symbols, places.map((place) => [place, place + 1])];
  const framed = [], at = [];
  for (const [start, stop] of runsOfLetters(symbols)) {
    const before = [places[start], places[start]], after = [places[stop] ?? end, places[stop] ?? end];
    if (framed.length) framed.push(BREAK), at.push(before);
    framed.push(" "), at.push(before);
    for (let k = start; k < stop; k++) framed.push(symbols[k]), at.push([places[k], places[k] + 1]);
    framed.push(" "), at.push(after);
  }
  return [framed, at];
}

// Words, and where they are.
function readWords(symbols, places, table) {
  const words = wordsOf(symbols, table);
  return [words.map(([a, b]) => symbols.slice(a, b).join("")), words.map(([a, b]) => [places[a], places[b - 1] + 1])];
}

// Start and end of each word: letters, or another character; both with the combining characters among them.
function wordsOf(symbols, { letters, combining }) {
  const words = [];
  let stop;
  for (let start = 0; start < symbols.length; start = stop) {
    stop = start + 1;
    if (SPACES.has(symbols[start])) continue;
    const ofLetters = isIn(letters, symbols[start]);
    while (stop < symbols.length && (isIn(combining, symbols[stop]) || (ofLetters && isIn(letters, symbols[stop])))) stop++;
    words.push([start, stop]);
  }
  return words;
}

// Start and end of what is between white space.
function runsOfLetters(symbols) {
  const runs = [];
  let start = 0;
  for (let stop = 0; stop <= symbols.length; stop++) {
    if (stop === symbols.length || SPACES.has(symbols[stop])) {
      if (stop > start) runs.push([start, stop]);
      start = stop + 1;
    }
  }
  return runs;
}

// Bytes, of a string those of UTF-8, and where they are.
function readBytes(encoded) {
  return [encoded.flat(), encoded.flatMap((bytes, place) => bytes.map(() => [place, place + 1]))];
}

// The bytes of a character in UTF-8; of half a surrogate pair as well, which TextEncoder would replace.
function utf8(character) {
  const code = character.codePointAt(0);
  if (code < 0x80) return [code];
  if (code < 0x800) return [0xc0 | (code >> 6), 0x80 | (code & 63)];
  if (code < 0x10000) return [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
  return [0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
}
