// The filters: client, API, broker and topic move all charts and lists. What these are made of stands in the page, a
// part for each origin (kdbg/report/apart.py); of the parts whose origin is chosen they are put together again.
"use strict";

const UNITS = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
const NOTHING = "–";
const LINES = 3;
const count = (number) => number.toLocaleString("en-US");

/** A number of bytes, as kdbg/report/cells.py writes it. */
function size(number) {
  let unit = 0;
  while (number >= 999.5 && unit < UNITS.length - 1) [number, unit] = [number / 1000, unit + 1];
  return `${number.toFixed(unit === 0 || number >= 99.5 ? 0 : 1)} ${UNITS[unit]}`;
}

/** A number of microseconds, likewise. */
function duration(microseconds) {
  const seconds = microseconds / 1e6;
  if (seconds >= 120) {
    const [unit, length] = [["days", 86400], ["h", 3600], ["min", 60]].find(([, each]) => seconds >= 2 * each);
    return `${(seconds / length).toFixed(1).replace(/\.0$/, "")} ${unit}`;
  }
  const [unit, scale] = microseconds >= 999500 ? ["s", 1e6] : microseconds >= 999.5 ? ["ms", 1e3] : ["µs", 1];
  const value = microseconds / scale;
  return `${value < 999.5 ? Number(value.toPrecision(3)) : count(Math.round(value))} ${unit}`;
}

const when = (microseconds) => new Date(microseconds / 1000).toISOString().replace("T", " ").slice(0, 23);
const SHOW = { count, bytes: size, duration, time: when };
const FOLD = { sum: (a, b) => a + b, min: Math.min, max: Math.max };

/** The number at a percentile, by nearest rank, of [number, how often]. */
function percentile(numbers, percent) {
  const whole = numbers.reduce((sum, [, times]) => sum + times, 0);
  let soFar = 0;
  for (const [number, times] of [...numbers].sort((a, b) => a[0] - b[0])) {
    soFar += times;
    if (soFar * 100 >= percent * whole) return number;
  }
  return null;
}

/** A list of the page: a table, all in numbers, or the lines of what stands out. */
class List {
  constructor(element, told) {
    this.element = element;
    this.told = told;
    this.point = element.closest(".point");
    this.rows = element.tBodies ? [...element.tBodies[0].rows] : this.point ? [...element.querySelectorAll(".line")] : [element];
    this.cells = this.rows.map((row) => (this.point ? [] : [...(row.cells ?? row.querySelectorAll("dd"))]));
    this.before = this.cells.map((cells) => cells.map((cell) => [cell.textContent, cell.dataset.sort]));
  }

  /** Show all again. */
  restore() {
    this.rows.forEach((row, i) => {
      row.hidden = false;
      this.cells[i].forEach((cell, column) => this.write(cell, ...this.before[i][column]));
    });
    this.found = undefined;
  }

  /** Say where nothing is left. */
  mark() {
    const grid = this.element.closest(".scroll");
    if (grid) grid.classList.toggle("none", this.rows.every((row) => row.hidden));
  }

  write(cell, text, sort) {
    cell.textContent = text;
    if (sort === undefined) delete cell.dataset.sort;
    else cell.dataset.sort = sort;
  }

  show(row, column, value) {
    const kind = this.told.kinds[column];
    this.write(this.cells[row][column], value === null ? NOTHING : SHOW[kind](value), value === null ? -1 : value);
  }

  /** Put together the parts that are kept; rows of which nothing is left are hidden. */
  choose(keep, charts) {
    this.found = this.rows.map(() => undefined);
    for (const asked of this.told.asked) this.add(asked, keep);
    if (this.point) return;
    this.rows.forEach((row, i) => {
      row.hidden = row.matches("tr") && !this.found[i];
      const values = this.found[i] ?? {};
      for (const { columns, folds } of this.told.asked) {
        columns.forEach((column, j) => {
          const none = folds[j] === "sum" || folds[j] === "distinct" ? 0 : null;
          const value = values[column] === undefined ? none : values[column];
          this.show(i, column, value instanceof Set ? value.size : value);
        });
      }
    });
    if (this.told.histogram) this.rank(charts[this.told.histogram].numbers(keep));
  }

  add({ columns, folds, parts }, keep) {
    for (const [row, origin, ...amounts] of parts) {
      if (!keep[origin]) continue;
      const values = (this.found[row] ??= {});
      columns.forEach((column, i) => {
        if (folds[i] === "distinct") (values[column] ??= new Set()).add(amounts[i]);
        else if (amounts[i] === null) values[column] ??= null;
        else values[column] = values[column] == null ? amounts[i] : FOLD[folds[i]](values[column], amounts[i]);
      });
    }
  }

  /** Write percentiles of numbers given as [origin, bin, number, how often]. */
  rank(numbers) {
    this.told.apis.forEach((api, row) => {
      const own = numbers.filter(([origin]) => moving.options.api[moving.origins[origin][1]] === api);
      for (const [column, percent] of Object.entries(this.told.percents)) {
        this.show(row, column, percentile(own.map(([, , ...each]) => each), percent));
      }
    });
  }

  /** Show the first lines that are left of what stands out, and how often it was; true if there are any. */
  arrange() {
    const left = this.rows.filter((row, i) => !this.found || this.found[i]);
    const more = this.found ? 0 : Number(this.point.dataset.left);
    this.rows.forEach((row) => {
      row.hidden = left.indexOf(row) < 0 || left.indexOf(row) >= LINES;
      row.classList.toggle("third", left.indexOf(row) === LINES - 1);
    });
    const rest = this.point.querySelector(".left");
    rest.hidden = left.length < LINES;
    rest.classList.toggle("narrow", left.length + more === LINES);
    rest.textContent = `… ${count(left.length + more)} in total, below`;
    const title = this.point.querySelector("a");
    title.dataset.whole ??= title.textContent;
    let whole = 0;
    this.rows.forEach((row, i) => {
      const value = this.found?.[i]?.[this.told.kinds.length - 1] ?? 0;
      const times = value instanceof Set ? value.size : value;
      const said = row.querySelector(".times");
      if (said) said.dataset.whole ??= said.textContent;
      if (said) said.textContent = this.found ? count(times) : said.dataset.whole;
      whole += times;
    });
    const { one, many } = this.point.dataset;
    title.textContent = this.found ? `${count(whole)} ${whole === 1 ? one : many}` : title.dataset.whole;
    this.point.hidden = !left.length;
    return left.length > 0;
  }
}

/** What moves a chart: `draw(keep)` gives its values, series by series; null where there is none in a bin. */
class Moved {
  constructor(id, told, figure, numbers) {
    this.id = id;
    this.told = told;
    this.figure = figure;
    this.list = numbers;
    this.bins = figure.data[0].x.length;
  }

  numbers(keep) {
    return this.told.parts.filter(([origin]) => keep[origin]);
  }

  empty(value) {
    return this.told.names.map(() => new Array(this.bins).fill(value));
  }

  sum(keep) {
    const lines = this.empty(0);
    for (const [, bin, series, amount] of this.numbers(keep)) lines[series][bin] += amount;
    return lines;
  }

  percentiles(keep) {
    const lines = this.empty(null);
    const bins = grouped(this.numbers(keep));
    for (const [bin, parts] of bins) {
      const numbers = parts.map(([, , ...each]) => each);
      this.told.names.forEach((name, i) => (lines[i][bin] = percentile(numbers, Number(name.slice(1)))));
    }
    return lines;
  }

  running(keep) {
    const grows = this.empty(null);
    for (const [origins, bin, series, amount] of this.told.parts) {
      if (origins.some((origin) => keep[origin])) grows[series][bin] = (grows[series][bin] ?? 0) + amount;
    }
    return grows.map((line) => {
      let now = null;
      return line.map((grown) => (grown === null ? now : (now = (now ?? 0) + grown)));
    });
  }

  heat(keep, charts) {
    const { of, edges } = this.told;
    const lines = edges.map(() => new Array(this.bins).fill(0));
    for (const [, bin, number, times] of charts[of].numbers(keep)) {
      lines[edges.findLastIndex((edge) => edge <= Math.max(number, 0))][bin] += times;
    }
    return lines;
  }

  /** Move the chart, and the numbers below it. */
  choose(keep, charts) {
    const chart = document.getElementById(`chart-${this.id}`);
    const { way, kind } = this.told;
    if (!keep || way === undefined) return this.restore(chart, keep);
    if (way === "bars") return this.bars(chart);
    const lines = this[way](keep, charts);
    const texts = lines.map((line) => line.map((value) => (value === null ? "" : SHOW[kind](value))));
    this.tell(lines);
    this.mark(chart, way === "sum" || way === "heat" ? lines.map((line) => line.map((value) => value || null)) : lines);
    if (way === "heat") {
      const z = lines.map((line) => line.map((value) => (value ? Math.log10(value) : null)));
      return Plotly.restyle(chart, { z: [z], customdata: [texts] });
    }
    const long = kind === "duration";
    const y = lines.map((line) => line.map((value) => (long && value !== null ? Math.max(value, 1) : value)));
    return redraw(chart, { y, customdata: texts });
  }

  /** Say that nothing is left of the chart. */
  mark(chart, lines) {
    chart.closest("figure").classList.toggle("none", !lines.some((line) => line.some((value) => value !== null)));
  }

  restore(chart, keep) {
    this.mark(chart, [[0]]);
    chart.closest("figure").querySelector(".whole").hidden = !(keep && this.told.way === undefined);
    if (this.told.way === undefined) return undefined; // it shows all it ever shows
    if (this.told.way !== "bars") this.list.restore();
    const take = (name) => this.figure.data.map((trace) => trace[name]);
    const names = { heat: ["z", "customdata"], bars: ["x", "y", "base", "customdata"] }[this.told.way] ?? ["y", "customdata"];
    return redraw(chart, Object.fromEntries(names.map((name) => [name, take(name)])));
  }

  /** Leave the bars whose rows are left. */
  bars(chart) {
    const [trace] = this.figure.data;
    const kept = (values) => [values.filter((_, i) => this.list.found[this.told.rows[i]])];
    this.mark(chart, kept(trace.x));
    const names = ["x", "y", "base", "customdata"];
    return Plotly.restyle(chart, Object.fromEntries(names.map((name) => [name, kept(trace[name])])));
  }

  /** Write the numbers below the chart. */
  tell(lines) {
    this.list.rows.forEach((row, i) => {
      const bin = (Number(this.list.before[i][0][1]) - moving.start) / moving.width;
      const values = lines.map((line) => line[bin]);
      row.hidden = !values.some(Boolean);
      values.forEach((value, series) => this.list.show(i, series + 1, value));
    });
  }
}

function grouped(parts) {
  const found = new Map();
  for (const part of parts) {
    if (!found.has(part[1])) found.set(part[1], []);
    found.get(part[1]).push(part);
  }
  return found;
}

let moving, lists, charts;

/** The origins that the filters let through; null for all. */
function chosen() {
  const wanted = [...document.querySelectorAll("#filters select")].map(({ value }) => (value === "" ? null : Number(value)));
  if (wanted.every((each) => each === null)) return null;
  return moving.origins.map((origin) =>
    wanted.every((each, i) => each === null || (i === 3 ? origin[i].includes(each) : origin[i] === each)));
}

/** Move all charts and lists to what is chosen. */
async function move() {
  const main = document.querySelector("main");
  main.setAttribute("aria-busy", "true");
  const keep = chosen();
  for (const list of Object.values(lists)) {
    if (!keep) list.restore();
    else if (list.told.asked.length) list.choose(keep, charts);
  }
  await Promise.all(Object.values(charts).map((chart) => chart.choose(keep, charts)));
  const points = Object.values(lists).filter((list) => list.point);
  const left = points.map((point) => point.arrange());
  for (const list of Object.values(lists)) list.mark();
  const none = document.getElementById("nothing");
  if (none) none.hidden = left.some(Boolean);
  const whole = lists["Summary"];
  const [[all]] = whole.before[0];
  const now = whole.cells[0][0].textContent;
  document.getElementById("chosen").textContent = keep ? `${now} of ${all} exchanges` : "all traffic";
  document.getElementById("all").disabled = !keep;
  main.setAttribute("aria-busy", "false");
}

/** Begin with the filters, once the charts are drawn. */
async function beginFilters(packed) {
  moving = JSON.parse(await unpacked(packed));
  lists = {};
  for (const element of document.querySelectorAll("[data-list]")) {
    const told = moving.lists[element.dataset.list];
    if (told) lists[element.dataset.list] = new List(element, told);
  }
  charts = {};
  for (const [id, told] of Object.entries(moving.charts)) charts[id] = new Moved(id, told, figures[id], lists[told.numbers]);
  const filters = document.getElementById("filters");
  filters.addEventListener("change", move);
  document.getElementById("all").addEventListener("click", () => {
    for (const select of filters.querySelectorAll("select")) select.value = "";
    filters.querySelector("select").focus();
    move();
  });
  filters.open = innerWidth > 600;
  filters.dataset.ready = "";
}
