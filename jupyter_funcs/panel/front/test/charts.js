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

/** The answer to a `chart` request. */
export function chart({ wish = {}, low = null, high = null, filters = [] } = {}, names = REGIONS) {
  const {
    kind = "line",
    show = "value",
    measure = "Spend",
    all = false,
    colour = names === REGIONS ? "Region" : "Symbol",
  } = wish;
  const step = low === null ? 7 : high - low < 400 ? 1 : 7;
  const x = [];
  for (let day = FIRST; day < FIRST + 1820; day += step)
    if ((low === null || day >= low) && (high === null || day <= high)) x.push(day);
  const value = (day, line) =>
    show === "growth"
      ? 0.04 + 0.09 * Math.sin(day / 70 + 2 * line) + 0.03 * Math.sin(day / 9 + line)
      : Math.round(wave(day, line));
  const choices = [
    choice("kind", "Kind of chart", kind, [
      ["line", "Lines"],
      ["bar", "Bars"],
    ]),
    choice("measure", "Measure", measure, [["Spend"], ["Spend Growth"], ["Transaction Count"]]),
    choice("colour", kind === "bar" ? "Bars for" : "Colour by", colour, [
      [colour],
      ["", "Nothing"],
    ]),
  ];
  const about = {
    kind,
    title: `${measure} by ${colour.toLowerCase()}`,
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
    choices,
  };
  if (filters.length)
    return {
      ...about,
      why: "No row matches the filters of the table.",
      x: { type: "category", values: [], labels: [] },
      series: [],
      rows: 0,
    };
  if (kind === "bar")
    return {
      ...about,
      unit: "USD",
      step: "",
      x: { type: "category", values: names.map((_, at) => at), labels: names },
      series: [{ name: measure, colour: 0, values: names.map((_, at) => wave(FIRST, at) * 1500) }],
      notes: ["The sum of all rows."],
    };
  choices.push(
    choice("points", "Points", about.step, [
      ["day", "Day", step === 7],
      ["week", "Week"],
      ["month", "Month"],
      ["quarter", "Quarter"],
    ]),
  );
  choices.push(
    choice("show", "Show as", show, [
      ["value", "Mean per day"],
      ["sum", "Sum"],
      ["average", "7-day average"],
      ["index", "Index, first = 100"],
      ["growth", "Change from a year before"],
    ]),
  );
  const shown =
    show === "growth"
      ? {
          unit: "%",
          format: "percent",
          adds: false,
          notes: ["Each week against the one a year before."],
        }
      : { notes: ["Each point is the mean of the days of a week."] };
  const series = names.map((name, line) => ({
    name,
    colour: line < 8 ? line : all ? line % 8 : -1,
    values: x.map((day) => value(day, names === REGIONS ? line : line / 2.2)),
  }));
  return { ...about, ...shown, x: { type: "time", values: x, labels: [] }, series };
}
export const manyLines = (request) => chart(request, SYMBOLS);

/** The answer to a `compare` request. */
export function compared({ before, after }, rows) {
  const [one, other] = [before, after].map((number) => rows.find((row) => row.number === number));
  const { x, ...rest } = chart();
  const sums = x.values.map((day) => wave(day, 0) * 5);
  const rows2 = REGIONS.map((name, at) => [
    name,
    Math.round(wave(FIRST, at) * 1500),
    Math.round(wave(FIRST, at) * (1300 + 30 * at)),
  ]);
  const joined = Array.from({ length: 50 }, (_, at) => [
    "changed",
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
    args: [{ name: "Panel", before: "Demo Card Panel", after: "Demo Debit Panel" }],
    same: "Symbol NVRA · Dimensions Region · Growth Yes",
    gone: [],
    said: "10,956 changed, of 10,956 rows before and 10,956 after.",
    columns: [
      "Change",
      "Date",
      "Region",
      ...["before", "after", "delta", "percent"].map((which) => `Spend (${which})`),
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
        { name: "Before", colour: -2, values: sums },
        { name: "After", colour: 0, values: sums.map((value) => value * 0.86) },
      ],
      adds: false,
    },
    code: "import jupyter_funcs as jf\n\njf.diff(card_daily, panel_daily)",
  };
}
