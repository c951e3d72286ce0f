/** Charts as the kernel answers them, over made-up data. */

const FIRST = 18_582; // 16 November 2020
const REGIONS = ["Southeast", "Midwest", "Southwest", "Pacific", "Mid-Atlantic", "Northeast"];
const SYMBOLS =
  "GVSA BKQU ZPLN NVRA HVSQ PXOR LDQM OKHM SKVD CLQM MCHQ BVQS DGVN TRVX QLMN WXRT FNLF TDWS CRVX KORD PZQN RMLT"
    .split(" ")
    .map((code) => `${code} US EQUITY`);
const wave = (day, line) =>
  (520 - line * 45) *
  (1 +
    0.06 * Math.sin(day / 19 + line) +
    0.5 * Math.exp(-(((day - FIRST - 35) % 365.25) ** 2) / 120)) *
  (1 + (day - FIRST) / 9000) *
  1000;
const choice = (name, label, value, options) => ({
  name,
  label,
  value,
  options: options.map(([each, text, disabled]) => ({
    value: each,
    label: text ?? each,
    ...(disabled ? { disabled } : {}),
  })),
});

/** The days between two points: weeks, or days where less than some 400 are shown. */
function stepOf(low, high) {
  if (low === null) return 7;
  return high - low < 400 ? 1 : 7;
}

function choicesOf({ kind, measure, colour, show }, step) {
  const choices = [
    choice("kind", "Kind of chart", kind, [
      ["line", "Lines"],
      ["bar", "Bars"],
      ["area", "Areas"],
      ["stack", "Stacked areas"],
      ["scatter", "Scatter plots"],
      ["histogram", "Histograms"],
    ]),
    choice("measure", "Measure", measure, [["Spend"], ["Spend Growth"], ["Transaction Count"]]),
    choice("colour", kind === "bar" ? "Bars for" : "Colour by", colour, [
      [colour],
      ["", "Nothing"],
    ]),
  ];
  if (kind === "bar") return choices;
  const points = choice("points", "Points", step === 1 ? "day" : "week", [
    ["day", "Day", step === 7],
    ["week", "Week"],
    ["month", "Month"],
    ["quarter", "Quarter"],
  ]);
  const shown = choice("show", "Show as", show, [
    ["value", "Mean per day"],
    ["sum", "Sum"],
    ["average", "7-day average"],
    ["index", "Index, first = 100"],
    ["growth", "Change from a year before"],
  ]);
  return [...choices, points, shown];
}

/** What is said of a chart, whatever it draws. */
const aboutOf = (wish, step, filters) => ({
  kind: wish.kind,
  title: `${wish.measure} by ${wish.colour.toLowerCase()}`,
  why: "",
  unit: "USD a day on average",
  format: "money",
  step: step === 1 ? "day" : "week",
  zero: true,
  adds: true,
  rows: 10_956,
  notes: [],
  code: "import pandas as pd\ntable = df.groupby('Date').sum()",
  hidden: 0,
  panels: [],
  names: {},
  log: wish.scale === "log",
  choices: choicesOf(wish, step).slice(0, filters.length ? 3 : undefined),
});

const NONE = {
  why: "No row matches the filters of the table.",
  x: { type: "category", values: [], labels: [] },
  series: [],
  rows: 0,
};

const barsOf = (measure, names) => ({
  unit: "USD",
  step: "",
  x: { type: "category", values: names.map((_, at) => at), labels: names },
  series: [{ name: measure, colour: 0, values: names.map((_, at) => wave(FIRST, at) * 1500) }],
  notes: ["The sum of all rows."],
});

const GROWTH = {
  unit: "%",
  format: "percent",
  adds: false,
  notes: ["Each week against the one a year before."],
};

/** Of the lines, eight have colours, or all in turn. */
function colourOf(line, all) {
  if (line < 8) return line;
  return all ? line % 8 : -1;
}

function linesOf({ show, all }, names, days) {
  const growth = (day, line) =>
    0.04 + 0.09 * Math.sin(day / 70 + 2 * line) + 0.03 * Math.sin(day / 9 + line);
  const value = show === "growth" ? growth : (day, line) => Math.round(wave(day, line));
  const shown =
    show === "growth" ? GROWTH : { notes: ["Each point is the mean of the days of a week."] };
  const series = names.map((name, line) => ({
    name,
    colour: colourOf(line, all),
    values: days.map((day) => value(day, names === REGIONS ? line : line / 2.2)),
  }));
  return { ...shown, x: { type: "time", values: days, labels: [] }, series };
}

const HISTOGRAM = {
  title: "Rows by Spend",
  unit: "rows",
  format: "count",
  step: "",
  adds: false,
  x: { type: "number", title: "Spend", format: "money", values: [0, 1000, 2000, 3000], labels: [] },
  series: [{ name: "Rows", colour: 0, values: [4, 9, 2] }],
};

/** Points with places of their own. */
const dotsOf = (names) => ({
  title: "Spend against Transaction Count by region",
  step: "",
  adds: false,
  zero: false,
  x: { type: "number", title: "Transaction Count", format: "count", values: [0, 90], labels: [] },
  series: names.slice(0, 3).map((name, line) => ({
    name,
    colour: line,
    xs: Array.from({ length: 30 }, (_, at) => at * 3 + line),
    values: Array.from(
      { length: 30 },
      (_, at) => 2000 + at * 90 + wave(FIRST + at * 40, line) / 300,
    ),
  })),
});

/** The same lines for each panel. */
const panelsOf = (chosen, names, days) => {
  const panels = ["Debit", "Credit", "Other"];
  const { series, ...rest } = linesOf(chosen, names.slice(0, 2), days);
  const own = (panel) => series.map((line) => ({ ...line, panel }));
  return { ...rest, panels, series: panels.flatMap(own) };
};

/** The answer to a `chart` request. */
export function chart({ wish = {}, low = null, high = null, filters = [] } = {}, names = REGIONS) {
  const usual = {
    kind: "line",
    show: "value",
    measure: "Spend",
    all: false,
    colour: names === REGIONS ? "Region" : "Symbol",
  };
  const chosen = { ...usual, ...wish };
  const step = stepOf(low, high);
  const days = [];
  for (let day = FIRST; day < FIRST + 1820; day += step) {
    if ((low === null || day >= low) && (high === null || day <= high)) days.push(day);
  }
  const about = aboutOf(chosen, step, filters);
  if (filters.length) return { ...about, ...NONE };
  if (chosen.kind === "bar") return { ...about, ...barsOf(chosen.measure, names) };
  if (chosen.kind === "histogram") return { ...about, ...HISTOGRAM };
  if (chosen.kind === "scatter") return { ...about, ...dotsOf(names) };
  if (chosen.split) return { ...about, ...panelsOf(chosen, names, days) };
  return { ...about, ...linesOf(chosen, names, days) };
}
export const multiples = (request) =>
  chart({ ...request, wish: { split: "Card", scale: "log", ...request.wish } });
export const manyLines = (request) => chart(request, SYMBOLS);

/** The answer to a `compare` request. */
export function compared({ before, after }, rows, neutral = true) {
  const sides = neutral ? ["Demo Card Panel", "Demo Debit Panel"] : ["Before", "After"];
  const [one, other] = [before, after].map((number) => rows.find((row) => row.number === number));
  const { x, ...rest } = chart();
  const sums = x.values.map((day) => wave(day, 0) * 5);
  const rows2 = REGIONS.map((name, at) => [
    name,
    Math.round(wave(FIRST, at) * 1500),
    Math.round(wave(FIRST, at) * (1300 + 30 * at)),
  ]);
  const joined = Array.from({ length: 50 }, (_, at) => [
    neutral ? "in both" : "changed",
    `2020-11-${16 + (at % 14)}`,
    REGIONS[at % 6],
    "323,402",
    "287,161",
    "−36,241",
    "−11.2",
  ]);
  return {
    before: one,
    after: other,
    sides,
    neutral,
    args: neutral ? [{ name: "Panel", before: sides[0], after: sides[1] }] : [],
    same: "Symbol NVRA · Dimensions Region · Growth Yes",
    gone: [],
    said: neutral
      ? "10,956 in both, of 10,956 rows of Demo Card Panel and 10,956 of Demo Debit Panel."
      : "10,956 changed, of 10,956 rows before and 10,956 after.",
    columns: [
      neutral ? "Where" : "Change",
      "Date",
      "Region",
      ...[...(neutral ? sides : ["before", "after"]), "delta", "percent"].map(
        (which) => `Spend (${which})`,
      ),
    ].map((name, at) => ({ name, type: at < 3 ? "text" : "number" })),
    rows: joined,
    total: 10_956,
    totals: { title: "Spend by region", unit: "USD", format: "money", adds: true, rows: rows2 },
    chart: {
      ...rest,
      title: "Spend",
      x,
      choices: [],
      series: [
        { name: sides[0], colour: neutral ? 0 : -2, values: sums },
        { name: sides[1], colour: neutral ? 1 : 0, values: sums.map((value) => value * 0.86) },
      ],
      adds: false,
    },
    code: "import jupyter_funcs as jf\n\njf.diff(card_daily, panel_daily)",
  };
}
