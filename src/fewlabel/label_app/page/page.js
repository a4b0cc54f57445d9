"use strict";
// All text of the table goes into the page as text, never as markup.
const at = (id) => document.getElementById(id);
const tab = sessionStorage.tab ||= crypto.getRandomValues(new Uint32Array(4)).join("-");
const KEYS = "123456789";
const FIRST = 12; // values that are shown at once
let classes = [], current = null, busy = false, all = false, timer = 0;

function make(name, text, kind) {
  const found = document.createElement(name);
  if (text !== undefined) found.textContent = text;
  if (kind) found.className = kind;
  return found;
}

function drawn(name, attributes, text) {
  const found = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) found.setAttribute(key, value);
  if (text !== undefined) found.textContent = text;
  return found;
}

async function post(path, given) {
  const response = await fetch("api/" + path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ tab, ...given }),
  });
  if (!response.ok && response.status !== 409) throw new Error(await response.text());
  return response.json();
}

// An answer is sent again until the server has it: it may be restarting. It stores no answer twice.
async function send(path, given) {
  if (busy) return;
  setBusy(true);
  for (let pause = 200; ; pause = Math.min(2 * pause, 3000)) {
    try {
      const found = await post(path, given);
      setBusy(false);
      show(found);
      return;
    } catch (error) {
      at("message").textContent = "The server does not answer; trying again. Is fewlabel label still running?";
      await new Promise((done) => setTimeout(done, pause));
    }
  }
}

function setBusy(value) {
  busy = value;
  document.body.dataset.busy = value ? "yes" : "no";
}

function answer(label) {
  if (!current) return;
  const { key, how, probability } = current;
  send("answer", { key, label, how, probability, note: at("note").value });
}

function show(found) {
  at("message").textContent = found.message || found.progress.problem;
  if (!current || !found.row || current.key !== found.row.key) {
    at("note").value = "";
    all = false;
  }
  current = found.row;
  document.body.dataset.row = current ? current.key : "";
  showRow();
  showProgress(found.progress);
}

function showRow() {
  at("question").textContent = current ? `Row ${current.number}` : "Every row is answered or skipped.";
  for (const button of [...at("answers").children, at("skip")]) button.disabled = !current;
  at("values").replaceChildren();
  at("more").hidden = true;
  at("why").textContent = current ? current.why : "";
  at("score").textContent = current && current.score
    ? `Model: probability of ${current.score.label} ${current.score.probability.toFixed(2)}` : "";
  if (!current) return;
  const shown = all ? current.values : current.values.slice(0, FIRST);
  for (const { column, value, weight } of shown) {
    const line = make("div", undefined, weight >= 0.5 ? "matters" : "");
    line.append(make("dt", column), value === "" ? make("dd", "missing", "empty") : make("dd", value));
    at("values").append(line);
  }
  const hidden = current.values.length - shown.length;
  at("more").hidden = hidden === 0;
  at("legend").hidden = !current.score;
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
  at("file").textContent = `Every answer is saved at once in ${progress.file}`;
  clearTimeout(timer);
  if (progress.fitting) timer = setTimeout(refresh, 1000);
}

async function refresh() {
  if (busy) return;
  try {
    const found = await post("next", {});
    if (!busy && found.row && current && found.row.key === current.key) {
      const typed = at("note").value;
      show(found);
      at("note").value = typed;
    }
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
  const key = event.key.toLowerCase(), number = KEYS.indexOf(key);
  if (number >= 0 && number < classes.length) answer(classes[number]);
  else if (key === "s") answer(null);
  else if (key === "u") send("undo", {});
  else if (key === "n") at("note").focus();
  else return;
  event.preventDefault();
});

at("skip").addEventListener("click", () => answer(null));
at("undo").addEventListener("click", () => send("undo", {}));
at("more").addEventListener("click", () => { all = true; showRow(); });

async function start() {
  const found = await post("start", {});
  classes = found.classes;
  document.title = `${found.target}: label rows`;
  at("title").textContent = `${found.title}: ${found.target}`;
  at("answers").replaceChildren(...classes.map((name, k) => {
    const button = make("button");
    button.type = "button";
    if (k < KEYS.length) button.append(make("kbd", KEYS[k]));
    button.append(document.createTextNode(name));
    button.addEventListener("click", () => answer(name));
    return button;
  }));
  show(found);
  setBusy(false);
}
start().catch((error) => { at("message").textContent = `The page could not be loaded: ${error.message}`; });
