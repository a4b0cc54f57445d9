"use strict";
// All text of the table goes into the page as text, never as markup.
const at = (id) => document.getElementById(id);
const tab = sessionStorage.tab ||= crypto.getRandomValues(new Uint32Array(4)).join("-");
const KEYS = "123456789";
const FIRST = 12; // values that are shown at once
const WAIT = "The next row is loading: this key was not taken.";
let classes = [];
let rows = []; // not answered yet; the first one is shown
let outbox = JSON.parse(sessionStorage.outbox || "[]"); // answers that the server may not have yet, the oldest first
let sending = false;
let shown = null; // key of the row that is shown
let all = false; // whether all values are shown; stays for the next rows
let timer = 0;

function make(name, text, kind) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (kind) element.className = kind;
  return element;
}

function drawn(name, attributes, text) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

async function post(path, given) {
  const response = await fetch("api/" + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tab, ...given }),
  });
  if (response.ok || response.status === 409) return response.json();
  if (response.status === 507) throw new Error((await response.json()).message);
  throw new Error(`The server refused a request: ${await response.text()}.`);
}

// Answers are sent one after the other, each again until the server has it: it may be restarting, or its disk be full.
// They also wait in the session of the tab, which outlives a reload. The server stores no answer twice.
async function send(path, given) {
  outbox.push({ path, given });
  keepOutbox();
  if (!sending) await sendAll();
}

async function sendAll() {
  sending = true;
  let pause = 200;
  while (outbox.length) {
    const { path, given } = outbox[0];
    try {
      const found = await post(path, given);
      outbox.shift();
      keepOutbox();
      pause = 200;
      receive(found);
    } catch (error) {
      const text = error instanceof TypeError
        ? "The server does not answer. Is fewlabel label still running?" : error.message;
      at("message").textContent = `${text} ${outbox.length} not saved yet; trying again.`;
      await new Promise((done) => setTimeout(done, pause));
      pause = Math.min(2 * pause, 3000);
    }
  }
  sending = false;
  showState();
}

function keepOutbox() {
  sessionStorage.outbox = JSON.stringify(outbox);
  showState();
}

function showState() {
  document.body.dataset.busy = outbox.length ? "yes" : "no";
  at("saving").textContent = outbox.length ? `Saving ${outbox.length} …` : "";
}

// The row to answer; none while an undo is on its way, which brings back another.
function currentRow() {
  return outbox.some(({ path }) => path === "undo") ? undefined : rows[0];
}

function answer(label) {
  const row = currentRow();
  if (!row) {
    if (outbox.length) at("message").textContent = WAIT;
    return;
  }
  const { key, how, probability } = row;
  const note = at("note").value;
  rows.shift();
  send("answer", { key, label, how, probability, note });
  showRow();
}

function undo() {
  send("undo", {});
  showRow();
}

function receive(found) {
  const sent = new Set(outbox.map(({ given }) => given.key));
  const held = found.row ? [found.row, ...found.ahead] : [];
  rows = held.filter((row) => !sent.has(row.key));
  at("message").textContent = found.message || found.progress.problem;
  showRow();
  showProgress(found.progress);
}

function showRow() {
  const row = currentRow();
  if (!row || row.key !== shown) at("note").value = "";
  shown = row ? row.key : null;
  document.body.dataset.row = row ? row.key : "";
  const nothing = outbox.length ? "Loading …" : "Every row is answered or skipped.";
  at("question").textContent = row ? `Row ${row.number}` : nothing;
  for (const button of [...at("answers").children, at("skip")]) button.disabled = !row;
  at("values").replaceChildren();
  at("why").textContent = row ? row.why : "";
  at("more").hidden = true;
  if (!row) return;
  const values = all ? row.values : row.values.slice(0, FIRST);
  for (const { column, value } of values) {
    const line = make("div");
    line.append(make("dt", column), value === "" ? make("dd", "missing", "empty") : make("dd", value));
    at("values").append(line);
  }
  const hidden = row.values.length - values.length;
  at("more").hidden = hidden === 0;
  at("more").textContent = `${hidden} more values`;
}

function showProgress(progress) {
  at("counts").textContent = `${progress.answered} answered, ${progress.skipped} skipped; ` +
    `${progress.labeled.toLocaleString("en")} of ${progress.rows.toLocaleString("en")} rows labeled`;
  document.body.dataset.answered = progress.answered;
  const last = progress.history.at(-1);
  at("auc").textContent = last
    ? `AUC ${last.auc.toFixed(3)}, 95% interval ${last.low.toFixed(3)} to ${last.high.toFixed(3)}, ${last.labels} labels`
    : "A model is fitted as soon as two classes have two labels each.";
  at("basis").textContent = !last ? "" : last.unbiased ? "For all rows of the table, by those that were drawn at random."
    : "On the labeled rows; those asked for here are hard ones. Not yet enough random rows for the whole table.";
  chart(progress.history);
  at("forecast").textContent = progress.text;
  at("stop").textContent = progress.stop;
  at("classes").replaceChildren(...Object.entries(progress.counts).map(([name, n]) => make("li", `${name}: ${n}`)));
  const labelers = Object.entries(progress.labelers);
  const named = labelers.filter(([name]) => name).length ? labelers : [];
  at("labelers").replaceChildren(...named.map(([name, n]) => make("li", name ? `By ${name}: ${n}` : `Without a name: ${n}`)));
  at("labelers").hidden = !named.length;
  at("file").textContent = `Every answer is saved at once in ${progress.file}`;
  clearTimeout(timer);
  if (progress.fitting) timer = setTimeout(refresh, 1000);
}

async function refresh() {
  if (outbox.length) return;
  try {
    const found = await post("next", {});
    // An answer may have been given meanwhile: its response brings what is newer.
    if (!outbox.length && found.row && found.row.key === shown) receive(found);
  } catch (error) { /* the next answer says so */ }
}

function chart(history) {
  at("chart").replaceChildren();
  if (history.length < 2) return;
  const width = 320, height = 160, left = 34, right = 10, top = 8, bottom = 24;
  const labels = history.map((p) => p.labels);
  const first = Math.min(...labels), last = Math.max(...labels);
  const least = Math.min(...history.map((p) => p.low)), low = Math.max(0, Math.floor(least * 10) / 10);
  const x = (v) => left + (width - left - right) * (v - first) / Math.max(last - first, 1);
  const y = (v) => top + (height - top - bottom) * (1 - v) / (1 - low || 1);
  const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "AUC by number of labels" });
  for (const v of [low, (1 + low) / 2, 1]) {
    svg.append(drawn("line", { x1: left, x2: width - right, y1: y(v), y2: y(v), class: "grid" }));
    svg.append(drawn("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, v.toFixed(2)));
  }
  const there = history.map((p) => `${x(p.labels)},${y(p.high)}`);
  const back = [...history].reverse().map((p) => `${x(p.labels)},${y(p.low)}`);
  svg.append(drawn("polygon", { points: [...there, ...back].join(" "), class: "band" }));
  svg.append(drawn("polyline", { points: history.map((p) => `${x(p.labels)},${y(p.auc)}`).join(" "), class: "line" }));
  for (const p of history) svg.append(drawn("circle", { cx: x(p.labels), cy: y(p.auc), r: 2.5, class: "dot" }));
  svg.append(drawn("text", { x: left, y: height - 6 }, String(first)));
  svg.append(drawn("text", { x: width - right, y: height - 6, "text-anchor": "end" }, `${last} labels`));
  at("chart").append(svg);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target === at("note")) {
    if (event.key === "Enter" || event.key === "Escape") at("note").blur();
    return;
  }
  if (event.repeat) return; // a key that is held down would answer rows that nobody has read
  const key = event.key.toLowerCase(), number = KEYS.indexOf(key);
  if (number >= 0 && number < classes.length) answer(classes[number]);
  else if (key === "s") answer(null);
  else if (key === "u") undo();
  else if (key === "n") at("note").focus();
  else return;
  event.preventDefault();
});

at("skip").addEventListener("click", () => answer(null));
at("undo").addEventListener("click", undo);
at("more").addEventListener("click", () => { all = true; showRow(); });
addEventListener("beforeunload", (event) => { if (outbox.length) event.preventDefault(); });

async function start() {
  const found = await post("start", {});
  classes = found.classes;
  document.title = `${found.target}: label rows`;
  at("title").textContent = `${found.title}: ${found.target}`;
  at("rubric").hidden = !found.rubric;
  at("rubric-text").textContent = found.rubric;
  at("answers").replaceChildren(...classes.map((name, k) => {
    const button = make("button");
    button.type = "button";
    if (k < KEYS.length) button.append(make("kbd", KEYS[k]));
    button.append(document.createTextNode(name));
    button.addEventListener("click", () => answer(name));
    return button;
  }));
  receive(found);
  await sendAll(); // what a reload interrupted
}
start().catch((error) => { at("message").textContent = `The page could not be loaded: ${error.message}`; });
