// What moves on the page: charts in the colours of the theme, series that come and go, tables that sort.
"use strict";

const root = document.documentElement;
/** What stands in the page, compressed. */
function unpacked(id) {
  const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (each) => each.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

const figures = JSON.parse(document.getElementById("figures").textContent);
const whole = Object.values(figures)[0]?.layout.xaxis.range.slice();
const system = matchMedia("(prefers-color-scheme: dark)");
const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);

/** The layout's colours, taken from the style sheet. */
function colours() {
  const style = getComputedStyle(root);
  const [ink, quiet, line, card] = ["--ink", "--quiet", "--line", "--card"].map((name) => style.getPropertyValue(name).trim());
  return {
    "font.color": quiet,
    "xaxis.linecolor": line, "xaxis.tickcolor": line, "yaxis.gridcolor": line,
    "hoverlabel.bgcolor": card, "hoverlabel.bordercolor": line, "hoverlabel.font.color": ink,
  };
}

/** Let the marks of an axis of amounts stand at whole units: 1, 2, 5, 10… of none, kilo, mega. */
function wholeSteps(chart) {
  const axis = chart.layout.yaxis;
  if (axis.tickformat !== "~s" || !axis.range) return;
  const most = Math.max(axis.range[1], 1);
  const unit = 1000 ** Math.floor(Math.log10(most) / 3);
  const power = 10 ** Math.floor(Math.log10(most / 5));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each * 5 >= most);
  Plotly.relayout(chart, { "yaxis.tickmode": "linear", "yaxis.tick0": 0, "yaxis.dtick": Math.max(step, unit) });
}

/** Change what a chart draws; its marks are chosen anew, for those of small amounts would be many in large ones. */
function redraw(chart, change, series) {
  const marks = chart.layout.yaxis.tickformat === "~s" ? { "yaxis.tickmode": "auto" } : {};
  return Plotly.update(chart, change, marks, series).then(wholeSteps);
}

/** Zoom all charts to the time that one was zoomed to; a double click shows the whole again. */
function zoomTogether(id, change) {
  const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
  const range = from !== undefined ? [from, to] : change["xaxis.autorange"] ? whole : undefined;
  if (!range) return;
  for (const other of Object.keys(figures)) {
    const chart = document.getElementById(`chart-${other}`);
    if (String(chart.layout.xaxis.range) !== String(range)) Plotly.relayout(chart, { "xaxis.range": [...range] });
  }
}

function paint(id) {
  const chart = document.getElementById(`chart-${id}`);
  Plotly.relayout(chart, colours());
  chart.data.forEach((trace, i) => {
    if (trace.type === "heatmap") Plotly.restyle(chart, { reversescale: !isDark() }, [i]);
  });
}

function showTheme() {
  const button = document.getElementById("theme");
  button.setAttribute("aria-pressed", String(isDark()));
  button.textContent = isDark() ? "Light" : "Dark";
  Object.keys(figures).forEach(paint);
}

/** Sort a table by the column of a heading: the largest number first, text from A on; then the other way round. */
function sort(heading) {
  const number = heading.cellIndex;
  const body = heading.closest("table").tBodies[0];
  const value = (row) => {
    const cell = row.cells[number];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  const rows = [...body.rows];
  const numeric = rows.some((row) => typeof value(row) === "number" && value(row) !== -1);
  const before = heading.getAttribute("aria-sort");
  const up = before ? before === "descending" : !numeric;
  const compare = numeric ? (a, b) => value(a) - value(b) : (a, b) => String(value(a)).localeCompare(String(value(b)));
  rows.sort((a, b) => (up ? compare(a, b) : compare(b, a)));
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", up ? "ascending" : "descending");
  body.append(...rows);
}

function toggle(key) {
  const shown = key.getAttribute("aria-pressed") !== "true";
  key.setAttribute("aria-pressed", String(shown));
  redraw(document.getElementById(`chart-${key.dataset.chart}`), { visible: shown }, [Number(key.dataset.series)]);
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("th button");
  const key = event.target.closest(".keys button");
  if (heading) sort(heading.closest("th"));
  if (key) toggle(key);
});
document.getElementById("theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  showTheme();
});
system.addEventListener("change", showTheme);

async function draw() {
  const library = document.createElement("script");
  library.textContent = await unpacked("plotly");
  document.head.append(library);
  for (const [id, figure] of Object.entries(figures)) {
    const { height, ...layout } = figure.layout;
    const chart = document.getElementById(`chart-${id}`);
    // the data are copied: filters take them up again
    await Plotly.newPlot(chart, structuredClone(figure.data), layout, { responsive: true, displayModeBar: false, scrollZoom: false });
    wholeSteps(chart);
    // every chart has time on its x axis: they are zoomed together
    chart.on("plotly_relayout", (change) => zoomTogether(id, change));
  }
  showTheme();
  if (document.getElementById("filters")) await beginFilters("moving");
}

draw();
