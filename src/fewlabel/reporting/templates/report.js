"use strict";
// Without this script the page shows the same figures; it adds a slider over the thresholds and sorting by a click.
for (const head of document.querySelectorAll("table.sortable th[data-sort]")) {
  head.tabIndex = 0;
  head.classList.add("sorts");
  const sort = () => {
    const table = head.closest("table"), place = [...head.parentElement.children].indexOf(head);
    const down = head.dataset.order !== "down";
    for (const other of head.parentElement.children) delete other.dataset.order;
    head.dataset.order = down ? "down" : "up";
    const value = row => {
      const text = row.children[place].dataset.value ?? row.children[place].textContent.trim();
      return text === "" || isNaN(text) ? text : Number(text);
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].sort((a, b) => (value(a) > value(b) ? 1 : value(a) < value(b) ? -1 : 0) * (down ? -1 : 1));
      body.append(...rows);
    }
  };
  head.addEventListener("click", sort);
  head.addEventListener("keydown", event => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); sort(); } });
}
const slider = document.getElementById("threshold-slider");
if (slider) {
  const thresholds = JSON.parse(document.getElementById("threshold-data").textContent);
  // What is counted, such as the rows flagged, has no band.
  const range = (low, high, text) => `${text(low)} to ${text(high)}`;
  const banded = ([value, low, high], text, unit) => value === null ? range(low, high, text) + unit : text(value) + unit + (low === high ? "" : `\n${range(low, high, text)}`);
  const percent = found => banded(found, number => Math.round(100 * number), "%");
  const plain = found => banded(found, number => number.toPrecision(3), "");
  const show = () => {
    const threshold = thresholds[slider.value];
    for (const cell of document.querySelectorAll("[data-threshold]")) {
      const name = cell.dataset.threshold;
      cell.textContent = name === "threshold" ? threshold.threshold.toPrecision(4) : name === "cost" || name === "lift" ? plain(threshold[name]) : percent(threshold[name]);
    }
    for (const line of document.querySelectorAll("path.threshold")) {
      const svg = line.closest("svg"), left = Number(svg.dataset.left), width = Number(svg.dataset.width);
      const x = left + width * threshold.share[0];
      line.setAttribute("d", line.getAttribute("d").replace(/^M[\d.]+/, `M${x.toFixed(2)}`));
    }
  };
  slider.max = thresholds.length - 1;
  slider.value = slider.dataset.start;
  slider.addEventListener("input", show);
  document.getElementById("threshold-tool").hidden = false;
  show();
}
