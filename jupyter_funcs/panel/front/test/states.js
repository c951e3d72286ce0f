/** States of the panel as the kernel would write them, over made-up data: for the stage and for tests. */
import { chart, compared, manyLines, multiples } from "./charts.js";
import { groupsOf, RUN, VALUES, VIEW } from "./fake.js";

const COMPANIES = [
  "BKQU Bulkandry Clubs Groceries",
  "BVQS Bravoquesa Grill Restaurants",
  "CLQM Cluckmoor Foods Restaurants",
  "CRVX Crescovane Cruises Travel",
  "KORD Kordrivet Parts Retail",
  "MCHQ Mochandrel Coffee Restaurants",
  "NVRA Nuvarelle Outfitters Retail",
  "ZPLN Zeppelune Toys Retail",
].map((line) => {
  const [code, first, second, group] = line.split(" ");
  return { value: `${code} US EQUITY`, label: `${first} ${second}`, group };
});
const page = (options, note = "", more = {}) => ({
  options,
  total: options.length,
  groups: groupsOf(options),
  note,
  at: null,
  again: false,
  asking: false,
  ...more,
});
const listed = (...values) => page(values.map((value) => ({ value, label: "", group: "" })));
const field = (name, label, control, more = {}) => ({
  name,
  label,
  control,
  required: false,
  more: false,
  short: false,
  hint: "",
  default: null,
  help: `${label} of the rows.`,
  brief: `${label} of the rows.`,
  knownFrom: "Type declared by the catalog.",
  options: null,
  open: false,
  flag: null,
  minimum: null,
  maximum: null,
  integer: false,
  strict: true,
  constants: [],
  ...more,
});
export const FIELDS = [
  field("PanelName", "Panel", "choice", {
    required: true,
    hint: "Choose",
    options: page([
      { value: "Demo Card Panel", label: "Synthetic Data Works", group: "" },
      { value: "Demo Debit Panel", label: "Synthetic Data Works", group: "" },
    ]),
  }),
  field("Symbol", "Symbol", "choice", {
    hint: "Choose",
    options: page(COMPANIES, "24 symbols from Get Universe", {
      at: Date.now() / 1000,
      again: true,
    }),
    open: true,
  }),
  field("Brand", "Brand", "several", {
    hint: "Or choose brands",
    options: listed("Nuvarelle", "Fennloft", "Tidewisp", "Mochandrel"),
  }),
  field("Dimensions", "Dimensions", "several", {
    hint: "None (default)",
    options: listed("Region", "Age Group", "Brand"),
  }),
  field("StartDate", "From", "date", { short: true, hint: "Earliest" }),
  field("EndDate", "To", "date", { short: true, hint: "Latest" }),
  field("PoPGrowth", "Growth", "flag", { short: true, default: "No", flag: ["Yes", "No"] }),
  field("PoPLookback", "Years back", "number", {
    short: true,
    hint: "1 (default)",
    minimum: 1,
    maximum: 50,
    integer: true,
  }),
  field("Currency", "Currency", "choice", {
    more: true,
    short: true,
    hint: "USD (default)",
    options: listed("USD", "EUR", "CHF"),
  }),
  field("Exclude", "Leave out", "list", { more: true, hint: "One per line" }),
  field("Settings", "Settings", "json", { more: true, hint: "{ … }" }),
];
const EVIDENCE = [
  field("declared", "Step (declared)", "choice", { options: listed("day", "week", "month") }),
  field("described", "Growth Type (described)", "choice", {
    open: true,
    options: { ...listed("YoY", "QoQ"), note: "Read from the description" },
    knownFrom: "Type and values read from the description.",
  }),
  field("start_date", "Start date (assumed)", "date", {
    strict: false,
    hint: "YYYY-MM-DD",
    knownFrom: "Type assumed from the name.",
  }),
  field("since_date", "Since (described)", "date", {
    strict: false,
    hint: "YYYY-MM-DD",
    knownFrom: "Type read from the description.",
  }),
  field("day", "Day (declared)", "date", { hint: "YYYY-MM-DD" }),
];
const TYPED = [
  field("region", "Region", "text", { constants: ["null", "empty text"] }),
  field("note", "Note", "text", { short: true, constants: ["null", "empty text"] }),
  field("limit", "Limit", "number", { short: true, hint: "10 (default)", constants: ["null"] }),
  field("active", "Active", "flag", { short: true, flag: ["true", "false"], constants: ["null"] }),
  field("names", "Names", "list", { constants: ["null", "empty list"] }),
  field("value", "Value", "json", {
    hint: "Text, or json:5",
    help: "Text is sent as text; enter json:5 for a number or json:[1, 2] for a list.",
    constants: ["null", "empty text", "empty list"],
  }),
];
const HINTS = [
  "PoPGrowth:PoP Growth",
  "PrimaryOnly:Primary Only",
  "Report:Use Reported For Current Period",
  "ToDate:Use Reported Data",
].map((each, at) => {
  const [name, label] = each.split(":");
  return field(name, label, "flag", { short: at < 2, default: "Yes", flag: ["Yes", "No"] });
});
const held = (value, more = {}) => ({
  value,
  errors: [],
  warnings: [],
  more: false,
  notes: [],
  carried: false,
  unknown: [],
  ...more,
});
const wrong = (text, use = "") => ({ errors: [{ text, use, instead: "" }] });
const values = (filled = {}, more = {}) => ({
  ...VALUES,
  fields: Object.fromEntries(
    FIELDS.map(({ name }) => [
      name,
      filled[name]?.warnings ? filled[name] : held(filled[name] ?? null),
    ]),
  ),
  ...more,
});
export const FILLED = values({
  PanelName: "Demo Card Panel",
  Symbol: "NVRA US EQUITY",
  Dimensions: ["Region"],
  PoPGrowth: "Yes",
});

const PRESETS = [
  { name: "Quarter to date vs last year", about: "MCHQ, by fiscal quarter", shipped: true },
  { name: "Restaurants, weekly check", about: "6 symbols, run for each", shipped: false },
  { name: "NVRA by region", about: "Spend and growth", shipped: false },
];
const daily = {
  id: "get_panel_daily",
  name: "Get Panel Daily",
  about: "Card spend of a company or of brands, by day.",
  group: "Panel data",
  favourite: true,
  changesData: false,
  example: "spend by region of NVRA",
};
const FUNCTIONS = [
  daily,
  {
    ...daily,
    id: "get_panel_fq",
    name: "Get Panel FQ",
    about: "Card spend of a company or of brands, by fiscal quarter",
    favourite: false,
    example: "MCHQ, quarter to date",
  },
  {
    ...daily,
    id: "get_kpis",
    name: "Get KPIs",
    about: "Reported figures of a company, and when they came out",
    group: "Fundamentals",
    favourite: false,
    example: "revenue of BKQU",
  },
  {
    ...daily,
    id: "get_panels",
    name: "Get Panels",
    about: "The panel data sets that you can read",
    group: "Reference",
    favourite: false,
    example: "",
  },
  {
    ...daily,
    id: "get_universe",
    name: "Get Universe",
    about: "All companies with their symbols and sectors",
    group: "Reference",
    favourite: false,
    example: "",
  },
  {
    ...daily,
    id: "get_panel_dimensions",
    name: "Get Panel Dimensions",
    about: "Regions, age groups and brands of a panel",
    group: "Reference",
    favourite: false,
    example: "",
  },
  {
    ...daily,
    id: "get_report",
    name: "Get Report",
    about: "A written report with its tables: coffee, apparel, travel",
    group: "Reports",
    favourite: false,
    example: "",
  },
];
const view = {
  ...VIEW,
  service: { ...VIEW.service, account: "analyst@demo.example", functions: 7 },
  function: daily,
  fields: FIELDS,
  presets: PRESETS,
};
const past = (number, differs, variable, more = {}) => ({
  number,
  time: "14:32",
  function: "Get Panel Daily",
  differs,
  rows: 10_956,
  seconds: 0.2,
  variable,
  status: "done",
  error: "",
  held: true,
  kept: false,
  ...more,
});
export const HISTORY = [
  past(9, [{ name: "Panel", value: "Demo Debit Panel" }], "panel_daily"),
  past(8, [{ name: "Panel", value: "Demo Card Panel" }], "card_daily"),
  past(7, [{ name: "Dimensions", value: "Region, Age Group" }], "spend", { held: false }),
];

const column = (at, name, type, width, summary, said = "") => ({
  at,
  name,
  said,
  type,
  width,
  summary: {
    empty: 0,
    distinct: 6,
    minimum: "",
    maximum: "",
    short: ["", ""],
    histogram: [],
    top: [],
    ...summary,
  },
});
const HUMP = [
  0.05, 0.2, 0.6, 0.95, 1, 0.8, 0.6, 0.45, 0.35, 0.2, 0.15, 0.1, 0.05, 0.05, 0.03, 0.02,
];
export const COLUMNS = [
  column(0, "Date", "date", 88, {
    minimum: "2020-11-16",
    maximum: "2025-11-15",
    short: ["2020-11-16", "2025-11-15"],
  }),
  column(1, "Region", "text", 96, {
    top: ["Mid-Atlantic", "Midwest", "Northeast", "Pacific", "Southeast", "Southwest"].map(
      (text) => ({ text, share: 1 / 6 }),
    ),
  }),
  column(
    2,
    "Spend",
    "money",
    116,
    {
      minimum: "124,201.11",
      maximum: "869,393.87",
      short: ["124k", "869k"],
      histogram: HUMP,
    },
    "What the cards of the panel spent on the day, refunds left out.\nUnit: USD",
  ),
  column(3, "Spend Growth", "percent", 116, {
    minimum: "−24.8%",
    maximum: "+71.9%",
    short: ["−25%", "+72%"],
    histogram: HUMP,
    empty: 0.2,
  }),
  column(4, "Transaction Count", "count", 136, {
    minimum: "1,950",
    maximum: "13,208",
    short: ["1.95k", "13.2k"],
    histogram: HUMP,
  }),
  column(5, "Spend per Transaction", "money", 150, {
    minimum: "62.51",
    maximum: "68.20",
    short: ["62.5", "68.2"],
    histogram: HUMP,
  }),
];
const REGIONS = ["Mid-Atlantic", "Midwest", "Northeast", "Pacific", "Southeast", "Southwest"];
export const row = (at) => [
  new Date(Date.UTC(2020, 10, 16 + Math.floor(at / 6))).toISOString().slice(0, 10),
  REGIONS[at % 6],
  (200_000 + ((at * 7919) % 180_000) + 0.52).toLocaleString("en-US"),
  at < 6 ? null : `${at % 3 ? "+" : "−"}${(at * 37) % 12}.${at % 10}%`,
  (2_800 + ((at * 37) % 3_000)).toLocaleString("en-US"),
  `6${at % 5}.${10 + (at % 80)}`,
];
export const rows = (from, to, total = 10_956) => ({
  total,
  from,
  columns: [0, 1, 2, 3, 4, 5],
  rows: Array.from({ length: Math.max(0, Math.min(to, total) - from) }, (_, at) => row(from + at)),
  sums: { 2: "3,368,883,385", 4: "51,495,632" },
});
export const RESULT = {
  number: 3,
  function: "get_panel_daily",
  summary: "10,956 rows × 6 columns · 0.20 s",
  variable: "panel_daily",
  lost: "",
  note: "",
  table: { rows: 10_956, count: 6, columns: COLUMNS, page: rows(0, 40) },
  noJson: "",
};
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="480" height="240"><script>window.parent.ran = true</script><path d="M20 220V60h80v160M140 220V20h80v200M260 220V120h80v100" fill="#1b50bd"/></svg>`;
const MARKDOWN = "# Sales\n\nUp by **4 %** in the quarter, <b>most of it</b> in the Southeast.\n";
/** A result that is a file, as it is shown. */
export const fileResult = (shown, kind, name) => ({
  ...RESULT,
  summary: `${kind}, 12.3 kB · 0.20 s`,
  table: { rows: 0, count: 1, columns: [], page: { ...rows(0, 0), total: 0 } },
  file: { name, about: `${kind}, 12.3 kB`, kind, shown },
  noJson: "The reply is a file, not JSON.",
});
const done = { ...RUN, state: "done", number: 3, result: RESULT };
const code = [
  {
    name: "magic",
    note: "a line of a notebook",
    code: '%funcs call get_panel_daily PanelName="Demo Card Panel" Symbol="NVRA US EQUITY" -o panel_daily',
  },
  {
    name: "python",
    note: "a script or a notebook",
    code: 'import jupyter_funcs as jf\n\nfuncs = jf.connect()\npanel_daily = funcs.get_panel_daily(\n    PanelName="Demo Card Panel",\n    Symbol="NVRA US EQUITY",\n)',
  },
  {
    name: "curl",
    note: "a shell; the token comes from FUNCS_TOKEN",
    code: 'curl -sS https://demo.example/run/get_panel_daily \\\n  -H "Authorization: Bearer $FUNCS_TOKEN"',
  },
];
const groups = () => [
  { title: "Favourites", functions: [daily] },
  ...["Panel data", "Fundamentals", "Reference", "Reports"].map((title) => ({
    title,
    functions: FUNCTIONS.filter((each) => each.group === title && each !== daily),
  })),
];
const REPLY = {
  function: "get_panel_daily",
  request: {
    PanelName: "Demo Card Panel",
    Symbol: "NVRA US EQUITY",
    Dimensions: ["Region"],
    PoPGrowth: true,
  },
  synthetic: true,
  columns: COLUMNS.map(({ name }) => ({ name })),
  rows: Array.from({ length: 1234 }, (_, at) => [
    "2020-11-16",
    REGIONS[at % 6],
    211240.52 + at,
    null,
    3284,
  ]),
};
function typeOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

function jsonNode({ path, from }) {
  const told = (value) => {
    const held = value !== null && typeof value === "object";
    const plain =
      Array.isArray(value) &&
      value.length <= 10 &&
      value.every((each) => each === null || typeof each !== "object");
    const text = JSON.stringify(value).replaceAll(",", ", ");
    return {
      type: typeOf(value),
      text: held && !plain ? `${text.slice(0, 99)}…` : text,
      total: held ? Object.keys(value).length : 0,
      whole: !held || plain,
    };
  };
  const value = path.reduce((inner, key) => inner[key], REPLY);
  return {
    ...told(value),
    children: Object.entries(value)
      .slice(from, from + 50)
      .map(([key, each]) => ({ key: Array.isArray(value) ? Number(key) : key, ...told(each) })),
  };
}
const PIVOT = {
  rows: ["Region", "Date"],
  columns: "Panel",
  measure: "Spend",
  how: "mean",
  keys: ["Region", "Date", "Panel"],
  measures: ["Spend"],
  hows: ["sum", "mean", "count", "first", "last"],
  note: "Each row counts the same.",
};
/** The table that steps make: a pivot, or one column more. */
function shape({ steps }) {
  const { columns } = RESULT.table;
  const isPivot = steps.at(-1)?.kind === "pivot";
  const made = columns
    .slice(0, isPivot ? 3 : undefined)
    .map((column) => ({ ...column, at: isPivot ? [1, 0, 2][column.at] : column.at }))
    .sort((one, other) => one.at - other.at);
  const added = steps
    .filter(({ kind }) => kind === "column")
    .map(({ name }, place) => ({ ...columns[2], at: made.length + place, name }));
  const all = [...made, ...added];
  const places = all.map(({ at }) => at);
  const cells = isPivot
    ? ["Midwest", "Northeast", "West"].map((name) => [name, "2024-01-01", "1,234,567.00"])
    : rows(0, 40).rows.map((row) => [...row, ...added.map(() => "17.25")]);
  const page = { total: cells.length, from: 0, columns: places, rows: cells, sums: {} };
  const table = { ...RESULT.table, rows: cells.length, count: all.length, columns: all, page };
  return { table, pivot: isPivot ? PIVOT : null };
}
export const ANSWERS = {
  shape,
  functions: ({ query }) => {
    const found = FUNCTIONS.filter((each) =>
      `${each.name} ${each.about}`.toLowerCase().includes(query.toLowerCase()),
    );
    return {
      sections: query ? [{ title: "", functions: found }] : groups(),
      total: 7,
      found: found.length,
    };
  },
  code: { blocks: code },
  chart: (request) => chart(request),
  compare: (request) => compared(request, HISTORY),
  rows({ from, to, query }) {
    if (query.find) return rows(from, to, 0);
    return rows(from, to, query.filters.length ? 7_710 : undefined);
  },
  columns: ({ columns }) => ({ columns: columns.map((at) => COLUMNS[at]) }),
  values: ({ query }) => ({
    values: [{ text: null, count: 12 }, ...REGIONS.map((text) => ({ text, count: 1_826 }))].filter(
      ({ text }) => (text ?? "").toLowerCase().includes(query.toLowerCase()),
    ),
    total: 6,
  }),
  table_code: {
    code: 'panel_daily[panel_daily["Region"].isin(["Southeast", "Pacific"]) & (panel_daily["Spend"] >= 400000)].sort_values("Spend", ascending=False, kind="stable")',
  },
  copy: { text: "1\t2" },
  named({ text }) {
    const wanted = COLUMNS.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
    return { columns: wanted.map(({ at, name }) => ({ at, name })), total: wanted.length };
  },
  described: {
    facts: [
      ["count", "10,956", "10,956"],
      ["missing", "0", "0"],
      ["distinct", "6", "6"],
    ],
  },
  facts: {
    facts: [
      ["count", "12", "12"],
      ["sum", "3.1M", "3,104,112.24"],
      ["mean", "259k", "258,676.02"],
      ["min", "216k", "215,838.52"],
      ["max", "303k", "302,947.52"],
    ],
  },
  cell: ({ row, at, path, from }) => {
    if (at !== 1) return { text: rows(row, row + 1).rows[0][at], node: null };
    return { text: '{"region": "Midwest"}', node: jsonNode({ path, from }) };
  },
  json: (request) => jsonNode(request),
  json_text: { text: "{}" },
  json_find: ({ text }) => ({
    hits:
      text === "zzz"
        ? []
        : [
            [0, 0],
            [4, 0, 1],
            [4, 777, 1],
          ],
    more: false,
    all: true,
  }),
  about: {
    facts: [
      ["Service", "https://demo.example"],
      ["Version", "0.1.0"],
      ["Token", "ends in 29 days"],
      ["Cache", "12 replies, 4.1 MB"],
    ],
  },
  history: { rows: HISTORY },
  refresh: { said: "7 functions. Nothing has changed." },
  rename: ({ name }) => ({
    variable: name,
    note: `The result is now ${name}; panel_daily is gone.`,
    exists: false,
  }),
  save: ({ name, replace }) => ({
    said: `Saved ${name}.`,
    exists: !replace && name.endsWith(".csv"),
    name,
    data: "",
  }),
  favourite({ function: id, on }) {
    FUNCTIONS.find((each) => each.id === id).favourite = on;
    return {};
  },
};
const running = {
  name: "Get Panel Daily",
  elapsed: 3.4,
  bytes: 6_200_000,
  done: 0,
  of: 1,
  note: "",
};
const partial = {
  failed: 2,
  of: 24,
  rows: [
    { label: "KORD LN EQUITY", error: "No data of this panel for this symbol" },
    { label: "PZQN US EQUITY", error: "503: the service is busy" },
  ],
};
const failure = {
  what: "The service did not answer in time.",
  hint: "It was asked 3 times in 34 s.",
  details:
    '503 Service Unavailable from https://demo.example/run/get_panel_daily\nRetry-After: 10 · request 7f3c91 · 14:32:08\n{"error": "upstream timed out"}',
  retry: true,
  done: 0,
  fixes: [],
};

const at = (traits, after, answers = {}) => ({
  traits: { view, values: FILLED, run: done, ...traits },
  answers: { ...ANSWERS, ...answers },
  after,
});
const ofFile = (result, file, after) => at({ run: { ...done, result } }, after, { file: { file } });
/** From Run, as a person begins one, whichever is seen. */
const begun = (before) =>
  at({ run: before }, async ({ $, model }) => {
    for (const hook of ["run", "run-again"]) $(hook)?.focus();
    model.write({ run: { ...before, state: "running", running } });
  });
const click =
  (...hooks) =>
  async ({ $, settled }) => {
    for (const hook of hooks) {
      await settled();
      $(hook)?.click();
      await settled();
    }
  };
/** Type into a box, after some clicks. */
const entered =
  (box, text, ...hooks) =>
  async ({ $, settled }) => {
    await click(...hooks, box)({ $, settled });
    $(box).value = text;
    $(box).dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
const typed =
  (name, text) =>
  async ({ $, settled }) => {
    const input = $(`field:${name}`).querySelector("input");
    input.focus();
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  };
const chosen =
  (hook, value) =>
  async ({ $, settled }) => {
    $(hook).value = value;
    $(hook).dispatchEvent(new Event("change", { bubbles: true }));
    await settled();
  };
/** A pointer over the chart, at a part of its width. */
const over = ($, type, part) => {
  const svg = $("plot").querySelector("svg");
  const { left, top, width } = svg.getBoundingClientRect();
  svg.dispatchEvent(
    new PointerEvent(type, {
      bubbles: true,
      clientX: left + 48 + (width - 56) * part,
      clientY: top + 60,
    }),
  );
};
const point =
  (part) =>
  async ({ $, settled }) => {
    await settled();
    over($, "pointermove", part);
    await settled();
  };
const drag =
  (from, to) =>
  async ({ $, settled }) => {
    over($, "pointerdown", from);
    for (const [type, part] of [
      ["pointermove", to],
      ["pointerup", to],
    ]) {
      await settled();
      over($, type, part);
    }
    await settled();
  };
const sweep = {
  ...values({ PanelName: "Demo Card Panel", Symbol: { each: COMPANIES.map((one) => one.value) } }),
  runs: 24,
};
export const STATES = {
  loading: at({ view: null, values: null }),
  empty: at({
    view: {
      ...view,
      function: null,
      fields: [],
      presets: [],
      start: {
        cards: FUNCTIONS,
        recent: HISTORY,
        presets: PRESETS.map((each) => ({ ...each, function: "get_panel_daily" })),
      },
    },
    run: { ...RUN, state: "empty" },
  }),
  form: at({ values: values({}, { valid: false, missing: ["PanelName"] }), run: RUN }),
  errors: at({
    values: values(
      {
        Symbol: held("NVRB", wrong("NVRB isn't in the list.", "NVRA US EQUITY")),
        StartDate: held("2025-02-30", wrong("Enter a valid date.", "2025-02-28")),
        PoPLookback: held("99", wrong("Years back must be between 1 and 50.")),
      },
      { valid: false, missing: ["PanelName"], wrong: ["Symbol", "StartDate", "PoPLookback"] },
    ),
    run: RUN,
  }),
  controls: at(
    {
      values: values({
        PanelName: "Demo Card Panel",
        Symbol: "NVRA US EQUITY",
        Brand: { variable: "brands", about: "list of 12", each: false },
        Dimensions: ["Region", "Age Group"],
        StartDate: "2024-01-01",
        EndDate: "2025-11-15",
        PoPGrowth: "Yes",
        PoPLookback: "2",
        Currency: "CHF",
        Exclude: ["Nuvarelle Outlet Pier 9", "Fennloft Online", "Tidewisp Kiosk"],
        Settings: '{\n  "smooth": true,\n  "window": 7\n}',
      }),
      run: RUN,
    },
    ({ $ }) => ($("form").scrollTop = 9999),
  ),
  combobox: at(
    { values: values({ PanelName: "Demo Card Panel" }), run: RUN },
    typed("Symbol", "ko"),
  ),
  multiselect: at(
    {
      values: values(
        {
          PanelName: "Demo Card Panel",
          Symbol: {
            each: COMPANIES.filter((one) => one.group === "Restaurants").map((one) => one.value),
          },
        },
        { runs: 3 },
      ),
      run: RUN,
    },
    async ({ $, settled }) => {
      $("field:Symbol").querySelector("input").focus();
      $("field:Symbol").querySelector("input").click();
      await settled();
    },
  ),
  hints: at({
    view: { ...view, fields: HINTS },
    values: values({}, { fields: { PoPGrowth: held("Yes", { carried: true }) } }),
    run: RUN,
  }),
  constants: at(
    {
      view: { ...view, fields: TYPED },
      values: values(
        {},
        {
          fields: {
            region: held(null),
            note: held({ constant: "empty text" }),
            limit: held({ constant: "null" }),
            active: held(null),
            names: held({ constant: "empty list" }),
            value: held(null),
          },
        },
      ),
      run: RUN,
    },
    async ({ $, settled }) => {
      $("field-menu:region").click();
      await settled();
    },
  ),
  evidence: at(
    {
      view: { ...view, fields: EVIDENCE },
      values: values(
        {},
        {
          fields: {
            declared: held("week"),
            described: held("yoy", {
              warnings: [
                {
                  text: "Growth Type has no option 'yoy'. Did you mean 'YoY'? It is sent as given.",
                  use: "YoY",
                  instead: "",
                },
              ],
            }),
            start_date: held("7daysAgo"),
            since_date: held("7daysAgo", {
              warnings: [
                {
                  text: "Enter a valid date, such as 2025-11-15. It is sent as given.",
                  use: "",
                  instead: "",
                },
              ],
            }),
            day: held("7daysAgo", wrong("Enter a valid date, such as 2025-11-15.")),
          },
          valid: false,
          wrong: ["day"],
        },
      ),
      run: RUN,
    },
    async ({ $, settled }) => {
      $("field:described").querySelector("input").focus();
      $("show:described").dispatchEvent(
        new MouseEvent("mousedown", { bubbles: true, cancelable: true }),
      );
      await settled();
    },
  ),
  "field-menu": at({ run: RUN }, click("field-menu:Symbol")),
  "field-help": at({ run: RUN }, click("help:Symbol")),
  "field-paste": at({ run: RUN }, click("field-menu:Symbol", "paste-menu:Symbol")),
  "field-bind": at({ run: RUN }, click("field-menu:Symbol", "bind:Symbol"), {
    variables: {
      variables: [
        { name: "brands", about: "list of 12", each: true },
        { name: "symbol", about: "NVRA US EQUITY", each: false },
      ],
    },
  }),
  warnings: at({
    values: values(
      {
        PanelName: "Demo Card Panel",
        Symbol: held("NVRB", {
          warnings: [
            {
              text: "'NVRB' isn't in the list. Did you mean 'NVRA US EQUITY'?",
              use: "NVRA US EQUITY",
              instead: "",
            },
          ],
        }),
        Brand: held(["Nuvarelle", "Nuvarela"], {
          unknown: ["Nuvarela"],
          notes: ["Removed 'Old': no longer in Get Panel Dimensions."],
        }),
      },
      { advice: ["Fill in Symbol or Brand."] },
    ),
    run: RUN,
  }),
  running: begun(RUN),
  "running-again": begun(done),
  sweeping: at({
    values: sweep,
    run: { ...RUN, state: "running", running: { ...running, done: 9, of: 24, note: "2 failed" } },
  }),
  "sweeping-again": at({
    values: sweep,
    run: {
      ...done,
      state: "running",
      running: {
        ...running,
        done: 0,
        of: 2_400,
        note: "waiting until 14:32:20: 429 Too Many Requests",
      },
      partial,
    },
  }),
  table: at({}),
  "table-cells": at({}, async ({ $, settled }) => {
    const drag = (type, row, place) => {
      const { left, top } = $("grid")
        .querySelector(`[data-r="${row}"][data-c="${place}"]`)
        .getBoundingClientRect();
      const where = { clientX: left + 20, clientY: top + 10, buttons: 1, bubbles: true };
      $("grid")
        .querySelector(`[data-r="${row}"][data-c="${place}"]`)
        .dispatchEvent(new MouseEvent(type, where));
    };
    drag("mousedown", 2, 2);
    drag("mousemove", 8, 3);
    drag("mouseup", 8, 3);
    await settled();
  }),
  "table-cell": at({}, async ({ $, settled }) => {
    const cell = $("grid").querySelector('[data-r="2"][data-c="1"]');
    for (const type of ["mousedown", "mouseup", "dblclick"]) {
      const { left, top } = cell.getBoundingClientRect();
      const where = { clientX: left + 9, clientY: top + 9, bubbles: true };
      cell.dispatchEvent(new MouseEvent(type, where));
    }
    await settled();
  }),
  "table-columns": at({}, click("columns")),
  filtered: at({}, async (page) => {
    await click(
      "sort:Spend",
      "filter:Region",
      "value:Southeast",
      "value:Pacific",
      "view-code",
    )(page);
    document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    await entered("filter-lo", "400,000", "filter:Spend")(page);
    document.body.dispatchEvent(new Event("pointerdown", { bubbles: true }));
    await page.settled();
    page
      .$("grid")
      .querySelectorAll(".jf-tr")[3]
      .children[2].dispatchEvent(new MouseEvent("mousedown", { bubbles: true }));
    await page.settled();
  }),
  pivot: at({}, click("pivot")),
  compute: at({}, entered("compute-expression", "Spnd / 2", "compute")),
  "compute-wrong": at(
    {},
    async (page) => {
      await entered("compute-expression", "Spnd / 2", "compute")(page);
      await click("compute-now")(page);
    },
    { shape: { error: ["The table has no column 'Spnd'. Did you mean 'Spend'?"] } },
  ),
  computed: at({}, async (page) => {
    await entered("compute-expression", "Spend / `Transaction Count`", "compute")(page);
    await click("compute-now")(page);
  }),
  filter: at({}, entered("filter-lo", "250,000", "filter:Spend")),
  values: at({}, click("filter:Region", "value:Pacific")),
  days: at({}, click("filter:Date")),
  "no-rows": at({}, entered("find", "zzz")),
  changed: at({
    values: { ...FILLED, changed: true },
    run: {
      ...done,
      warnings: ["Region is empty in 12 rows.", "The service has sent one page of two."],
    },
  }),
  chart: at({ tab: "chart" }, point(0.62)),
  zoom: at({ tab: "chart" }, async (page) => {
    await chosen("chart-show", "growth")(page);
    await click("legend:Northeast", "legend:Midwest")(page);
    await drag(0.71, 0.95)(page);
    await point(0.4)(page);
  }),
  bars: at({ tab: "chart" }, click("chart-kind:bars")),
  areas: at({ tab: "chart" }, click("chart-kind:areas")),
  stacks: at({ tab: "chart" }, click("chart-kind:stacks")),
  scatters: at({ tab: "chart" }, click("chart-kind:scatters")),
  histograms: at({ tab: "chart" }, click("chart-kind:histograms")),
  multiples: at({ tab: "chart" }, undefined, { chart: multiples }),
  unsaved: {
    ...at({
      view: { ...view, cell: { id: "", names: true } },
      values: { ...FILLED, differs: true, line: "get_panel_daily Symbol=NVRA" },
      run: { ...done, result: { ...RESULT, note: "In panel_daily; bvqs keeps the run before." } },
    }),
  },
  "many-lines": at({ tab: "chart", run: { ...done, partial } }, undefined, { chart: manyLines }),
  json: at({ tab: "json" }),
  "json-find": at({ tab: "json" }, async ({ $, settled }) => {
    await settled();
    $("json-find").value = "Midwest";
    $("json-find").dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
    $("json-find").dispatchEvent(
      new KeyboardEvent("keydown", { key: "Enter", shiftKey: true, bubbles: true }),
    );
    await settled();
  }),
  code: at({ tab: "code" }),
  "no-lines": at({ tab: "chart" }, undefined, {
    chart: (request) => ({ ...chart(request), series: [], why: "No column has numbers." }),
  }),
  picker: at({}, click("picker")),
  "picker-search": at({}, async ({ $, settled }) => {
    $("picker").click();
    await settled();
    $("picker-search").value = "spend";
    $("picker-search").dispatchEvent(new Event("input", { bubbles: true }));
    await settled();
  }),
  presets: at({}, click("presets")),
  menu: at({}, click("menu")),
  about: at({}, click("menu", "about")),
  docs: at({}, click("menu", "docs")),
  save: at({}, click("save")),
  exists: at({}, click("save", "save:csv")),
  rename: at({}, click("var-name")),
  lost: at({
    run: {
      ...done,
      result: {
        ...RESULT,
        variable: "",
        lost: "panel_daily",
        note: "panel_daily no longer holds this result.",
      },
    },
  }),
  "file-image": ofFile(fileResult("image", "image/svg+xml", "get_chart.svg"), btoa(SVG)),
  "file-audio": ofFile(fileResult("audio", "audio/wav", "get_call.wav"), btoa("RIFF")),
  "file-text": ofFile(fileResult("text", "text/markdown", "get_note.md"), MARKDOWN),
  "file-other": ofFile(fileResult("", "application/pdf", "get_report.pdf"), "", click("save")),
  history: at({}, click("history", "tick:9", "tick:8")),
  compare: at({}, click("history", "tick:9", "tick:8", "compare")),
  "compare-times": at({}, click("history", "tick:9", "tick:8", "compare"), {
    compare: (request) => compared(request, HISTORY, false),
  }),
  error: at({ run: { ...done, state: "failed", error: failure } }, click("error-details")),
  cancelled: at({
    run: {
      ...done,
      state: "cancelled",
      error: {
        what: "Cancelled after 4 of 24 runs. Press Run to continue.",
        hint: "",
        details: "",
        retry: false,
        done: 4,
        fixes: [],
      },
    },
  }),
  "error-first": at({
    run: {
      ...RUN,
      state: "failed",
      error: {
        ...failure,
        what: "NVRB isn't a symbol of this panel.",
        hint: "",
        fixes: [
          { field: "Symbol", text: "Use NVRA US EQUITY", use: "NVRA US EQUITY", instead: "" },
        ],
      },
    },
  }),
  partial: at({ run: { ...done, partial } }, click("failed-runs")),
  offline: at({
    view: {
      ...view,
      service: {
        ...view.service,
        trouble: [
          "The service at https://demo.example cannot be reached.",
          "Check the network, then try again.",
        ],
      },
    },
    run: RUN,
  }),
  asks: at(
    {},
    async ({ $, settled }) => {
      $("picker").dispatchEvent(
        new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, bubbles: true }),
      );
      await settled();
    },
    { run: { asks: "This makes 2,400 runs. Run them all?" } },
  ),
  busy: at(
    {},
    async ({ $, settled, pass }) => {
      await click("menu", "refresh")({ $, settled });
      await pass(500);
    },
    { refresh: null },
  ),
  kernel: at({}, ({ model }) => model.die()),
  stacked: at({}, click("menu", "form-side")),
  edit: at({}, click("edit")),
};
