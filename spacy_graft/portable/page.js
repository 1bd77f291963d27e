// The page around the scorer. Texts are only ever set as text, never as HTML.
const LEVELS = 8, MAX_LABELS = 12, MAX_ROWS = 20, MAX_TOOLTIP_LINES = 4;
// Characters that are highlighted, and milliseconds without typing after which a screen reader is told the prediction.
const MAX_SHOWN = 5000, PAUSE = 700;
const VISIBLE = { " ": "\u2423", "\t": "\u21e5", "\n": "\u23ce", "\r": "\u23ce" };

const scorer = new ExportedModel(JSON.parse(document.getElementById("graft-model").textContent));
const model = scorer.model, labels = model.labels.map(String);
const [input, spoken, predicted, bars, choice, evidence] = ["text", "spoken", "predicted", "bars", "label", "found"].map(
  (id) => document.getElementById(`graft-${id}`),
);

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) if (value !== "") made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// Control characters, and overrides of the text direction, as visible ones.
function visible(text) {
  return text.replace(/[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202d\u202e]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 32 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
  });
}

// The name of a label or an n-gram, with visible white space at its ends; bdi isolates its direction.
function named(text) {
  const ends = text.trim() === "" ? /\s/g : /^\s+|\s+$/g;
  return element("bdi", {}, visible(text.replace(ends, (space) => space.replace(/[ \t\n\r]/g, (c) => VISIBLE[c]))));
}

function signed(value, digits = 3) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? text : (value < 0 ? "\u2212" : "+") + text;
}

function meter(value, largest) {
  const bar = element("i", { class: value < 0 ? "neg" : "pos" });
  bar.style.width = `${largest ? (100 * Math.abs(value)) / largest : 0}%`;
  return element("span", { class: "meter", "aria-hidden": "true" }, bar);
}

function ngramText(block, ngram) {
  if (block.symbols === "words") return withSigns(ngram.join(" "));
  if (block.symbols === "characters") return withSigns(ngram);
  return withSigns(ngram.replace(/[^\x1e]{2}/g, (digits) => {
    const code = parseInt(digits, 16);
    return code > 32 && code < 127 && code !== 92 ? String.fromCharCode(code) : `\\x${digits}`;
  }));
}

// With the signs that people see of the ends of a document.
function withSigns(text) {
  return text.replace(/^\x1e/, "\u22a2").replace(/\x1e$/, "\u22a3");
}

// The label that another one is compared with: the most probable other one. Independent labels have none.
function rivalOf(label, probabilities) {
  if (!model.exclusive) return null;
  const others = labels.map((_, k) => k).filter((k) => k !== label);
  return others.reduce((best, k) => (probabilities[k] > probabilities[best] ? k : best));
}

// The contributions of n-grams to the log-odds of a label, the largest first.
function contributionsTo(label, rival, found) {
  const parts = [];
  for (const { block: b, ngram: k, value, places } of found) {
    const block = model.blocks[b], of = (wanted) => (block.weights[k].find(([y]) => y === wanted) ?? [wanted, 0])[1];
    const weight = of(label) - (rival === null ? 0 : of(rival));
    if (weight === 0) continue;
    const text = ngramText(block, block.ngrams[k]);
    parts.push({ text, block: block.name, weight, contribution: weight * value, places });
  }
  return parts.sort((one, other) => Math.abs(other.contribution) - Math.abs(one.contribution));
}

// Adjacent characters with the same contributions: start, end, share of the score of each character, and parts.
function runsOf(length, parts) {
  const spans = parts.map((part) => part.places.filter(([start, end]) => end > start));
  const cuts = [...new Set([0, length, ...spans.flat(2).filter((cut) => cut < length)])].sort((a, b) => a - b);
  const runs = cuts.slice(1).map((end, k) => ({ start: cuts[k], end, strength: 0, parts: [] }));
  const at = new Map(cuts.map((cut, k) => [cut, k]));
  parts.forEach((part, k) => {
    const covered = spans[k].reduce((sum, [start, end]) => sum + end - start, 0);
    for (const [start, end] of spans[k]) {
      for (let run = at.get(start) ?? runs.length; run < (at.get(end) ?? runs.length); run++) {
        runs[run].strength += part.contribution / covered;
        if (runs[run].parts[runs[run].parts.length - 1] !== part) runs[run].parts.push(part);
      }
    }
  });
  return runs;
}

function level(value, largest) {
  const step = largest ? Math.round(LEVELS * Math.sqrt(Math.abs(value) / largest)) : 0;
  return step ? (value > 0 ? "p" : "n") + step : "";
}

function tooltip(run) {
  const lines = run.parts.slice(0, MAX_TOOLTIP_LINES).map((part) => `${signed(part.contribution)}  ${visible(part.text)}  (${part.block})`);
  const more = run.parts.length - MAX_TOOLTIP_LINES;
  return [...lines, ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function highlighted(characters, parts) {
  const shown = characters.slice(0, MAX_SHOWN), runs = runsOf(shown.length, parts);
  const largest = runs.reduce((most, run) => Math.max(most, Math.abs(run.strength)), 0);
  const marks = runs.map((run) => {
    const text = visible(shown.slice(run.start, run.end).join("")), shade = level(run.strength, largest);
    return run.parts.length ? element("mark", { class: shade, title: tooltip(run) }, text) : text;
  });
  return element("div", { class: "text", dir: "auto" }, ...marks, ...(characters.length > MAX_SHOWN ? ["\u2026"] : []));
}

function against(rival) {
  return rival === null ? [] : [" against ", named(labels[rival])];
}

function legend(label, rival) {
  const steps = [...Array(2 * LEVELS).keys()].map((k) => (k < LEVELS ? `n${LEVELS - k}` : `p${k - LEVELS + 1}`));
  const scale = steps.map((step) => element("mark", { class: step }, "\u00a0"));
  return element("p", { class: "legend" }, element("span", {}, "\u2212 for ", ...(rival === null ? ["not ", named(labels[label])] : [named(labels[rival])]), " (dashed)"),
    element("span", { class: "scale", "aria-hidden": "true" }, ...scale),
    element("span", {}, "+ for ", named(labels[label]), " (solid)"));
}

function contributionTable(label, parts) {
  const number = (text) => element("td", { class: "number" }, text);
  const inBlocks = (make) => (model.blocks.length > 1 ? [make()] : []);
  const head = (name, style = "") => element("th", { scope: "col", class: style }, name);
  const heads = [head("contribution", "number"), element("td", {}), head("n-gram"), ...inBlocks(() => head("block")),
    head("weight", "number"), head("places", "number")];
  const largest = Math.abs(parts[0].contribution), rest = parts.slice(MAX_ROWS);
  const rows = parts.slice(0, MAX_ROWS).map((part) => element("tr", {},
    number(signed(part.contribution)), element("td", { class: "bar" }, meter(part.contribution, largest)),
    element("th", { scope: "row", dir: "auto" }, named(part.text)),
    ...inBlocks(() => element("td", { class: "kind" }, named(part.block))),
    number(signed(part.weight)), number(String(part.places.length))));
  const total = rest.reduce((sum, part) => sum + part.contribution, 0);
  const foot = rest.length ? [element("tfoot", {}, element("tr", {}, number(signed(total)), element("td", {}),
    element("th", { scope: "row", colspan: String(heads.length - 2) }, `all other features: ${rest.length}`)))] : [];
  const caption = element("caption", {}, `Contributions to the log-odds of ${visible(labels[label])}`);
  const table = element("table", {}, caption, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows), ...foot);
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": "Table of contributions" }, table);
}

function scoreLine(label, rival, scores, n) {
  const over = (values, base) => values[label] - (rival === null ? base : values[rival]);
  const score = over(scores, 0), intercept = over(model.intercepts, model.offset), bold = (text) => element("b", {}, text);
  return element("p", { class: "score" }, "log-odds", ...against(rival), " ", bold(signed(score)), " = intercept ", bold(signed(intercept)),
    ` plus ${n} feature${n === 1 ? "" : "s"} `, bold(signed(score - intercept)));
}

function showEvidence(text, scores, probabilities) {
  const best = probabilities.indexOf(probabilities.reduce((a, b) => Math.max(a, b)));
  const label = choice.value === "" ? best : Number(choice.value);
  const rival = rivalOf(label, probabilities);
  const characters = [...text], found = scorer.explain(text), parts = contributionsTo(label, rival, found);
  const notes = [];
  if (text === "") notes.push("The text is empty: the log-odds are the intercept.");
  else if (!parts.length) notes.push("The text has no feature of this label: the log-odds are the intercept.");
  if (characters.length > MAX_SHOWN) notes.push(`The first ${MAX_SHOWN} characters are shown; all count.`);
  if (parts.length && model.length !== "none") {
    notes.push(`A contribution is a weight times ${found[0].value.toFixed(3)}, which depends on the length of the text.`);
  }
  evidence.replaceChildren(
    ...(parts.length ? [legend(label, rival)] : []),
    ...(text === "" ? [] : [highlighted(characters, parts)]),
    ...notes.map((note) => element("p", { class: "note" }, note)),
    scoreLine(label, rival, scores, parts.length),
    ...(parts.length ? [contributionTable(label, parts)] : []));
}

function showProbabilities(probabilities, chosen) {
  const ranked = labels.map((_, k) => k);
  // Few labels keep their places, so that bars can be watched; of many, the most probable ones are shown.
  if (labels.length > MAX_LABELS) ranked.sort((a, b) => probabilities[b] - probabilities[a]);
  const rows = ranked.slice(0, MAX_LABELS).map((k) => element("li", { class: chosen.includes(k) ? "this" : "" },
    element("span", { class: "name" }, named(labels[k])), meter(probabilities[k], 1),
    element("span", { class: "number" }, probabilities[k].toFixed(3))));
  const rest = ranked.slice(MAX_LABELS), most = rest.length ? probabilities[rest[0]].toFixed(3) : "";
  const more = rest.length ? `${rest.length} more label${rest.length > 1 ? "s" : ""}, none above ${most}.` : "";
  bars.replaceChildren(...rows, ...(more ? [element("li", { class: "note" }, more)] : []));
}

let pause = 0;
function update() {
  const text = input.value, scores = scorer.scores(text), probabilities = scorer.probabilities(text, scores);
  const prediction = scorer.predict(text, probabilities);
  const names = model.exclusive ? [prediction] : prediction, chosen = names.map((name) => model.labels.indexOf(name));
  const shown = chosen.flatMap((k, n) => [...(n ? [", "] : []), named(labels[k])]);
  predicted.replaceChildren(...(shown.length ? shown : ["no label"]));
  showProbabilities(probabilities, chosen);
  showEvidence(text, scores, probabilities);
  clearTimeout(pause);
  const said = chosen.map((k) => `${labels[k]}, probability ${probabilities[k].toFixed(2)}`).join("; ");
  pause = setTimeout(() => (spoken.textContent = text === "" ? "" : `Prediction: ${said || "no label"}`), PAUSE);
}

choice.append(new Option("the most probable label", ""), ...labels.map((label, k) => new Option(visible(label), String(k))));
let frame = 0;
input.addEventListener("input", () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(update);
});
choice.addEventListener("change", update);
update();
