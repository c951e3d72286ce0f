/**
 * What the kernel and the page say to each other: the one definition that both halves follow.
 *
 * The kernel writes the traits `_view`, `_service`, `_options` (of each field the first ones),
 * `_values`, `_long`, `_run`, `_result` and `_tab`; the page writes none. Each is the JSON text of
 * the type below (`_tab` a plain word, `_result` a part of `Run`): as text, long arrays don't take a
 * line for each number in a saved notebook, and an equal state sends no message. The page sends
 * requests, and the kernel answers each with one reply, or an error. Each text is shown as text.
 */

/** ---- Traits (kernel -> page) ---- */

/** What changes when another function is chosen, or the catalog is listed again. */
export interface View {
  /** What no other panel is called. */
  panel: string;
  /** In Voila without `trusted=True`, what touches files and variables is off. */
  trusted: boolean;
  /** Visitors see the page, as in Voila. */
  public: boolean;
  /** The panel's own cell, and whether it names a function. */
  cell: { id: string; names: boolean };
  /** `null` while nothing is chosen. */
  function: FunctionView | null;
  fields: FieldView[];
  presets: PresetView[];
  /** For the empty panel only; else `null`. */
  start: StartView | null;
}

export interface ServiceView {
  name: string;
  synthetic: boolean;
  /** E-mail of the account, or "". */
  account: string;
  /** A sentence, only when the token ends soon; else "". */
  tokenEnds: string;
  /** Why there is no catalog: one to three lines; else empty. */
  trouble: string[];
  functions: number;
  /** Why a catalog that was listed has no functions, and what to do; else empty. */
  nothing?: string;
}

export interface FunctionView {
  /** Wire name: what requests call it. */
  id: string;
  name: string;
  about: string;
  group: string;
  favourite: boolean;
  changesData: boolean;
  /** What `example` would run: "spend by region of NVRA"; else "". */
  example: string;
}

/** The control decides what is drawn; `kind` and evidence have been weighed in Python. */
export type Control =
  | "choice" // combobox over few or many options
  | "several" // chips with a combobox
  | "flag" // yes / no / default
  | "number"
  | "date"
  | "text"
  | "list" // free chips, any text
  | "json"
  | "group" // the parts of an object
  | "rows"; // the parts of each object of a list

export interface FieldView {
  name: string;
  label: string;
  control: Control;
  required: boolean;
  /** Under "More options". */
  more: boolean;
  /** Two short fields share a row. */
  short: boolean;
  /** As a placeholder: "1 (default)", "YYYY-MM-DD", "Choose", "". */
  hint: string;
  /** What is used when nothing is sent. */
  default: string | null;
  /** The whole help; paragraphs parted by "\n". */
  help: string;
  /** Its first whole sentences, for the line above Run; "" where that is all of it. */
  brief: string;
  /** For the help box: "Type declared by the catalog; values listed by Get Universe." */
  knownFrom: string;
  /** The first ones, all of them up to 200, which the page adds; `null` without any. */
  options: OptionPage | null;
  /** Described or listed options take other values too: the list ends with "Other…". */
  open: boolean;
  /** Of a flag: the spellings of yes and no that are sent. */
  flag: [string, string] | null;
  minimum: number | null;
  maximum: number | null;
  integer: boolean;
  /**
   * A date or a number that is only described is a text box with a hint, and for dates a picker
   * beside it.
   */
  strict: boolean;
  /** What its menu offers to send. */
  constants: Constant[];
  /** Of an object, named `customer.name`, or of each object of a list, named `items[].sku`. */
  parts?: FieldView[];
  /** JSON to begin with, or "". */
  template?: string;
  /** Of JSON: its schema. */
  schema?: string;
}

/** What no text spells. */
export type Constant = "null" | "empty text" | "empty list";

export interface Option {
  value: string;
  label: string;
  group: string;
}
export interface OptionPage {
  options: Option[];
  /** How many there are in all; beyond the page they are searched in Python. */
  total: number;
  /** Their groups, and how many each has; empty without several. */
  groups: [string, number][];
  /**
   * "Listing symbols…", "24 symbols from Get Universe", "Fill in Panel to see the symbols.", "Read
   * from the description", trouble, or "".
   */
  note: string;
  /** When they were listed, in seconds since 1970; `null` of options that no function lists. */
  at: number | null;
  /** Whether they can be listed again. */
  again: boolean;
  /** Whether they are being listed now. */
  asking: boolean;
}

export interface PresetView {
  name: string;
  about: string;
  shipped: boolean;
}

export interface StartView {
  cards: FunctionView[];
  recent: HistoryRow[];
  presets: (PresetView & { function: string })[];
}

/**
 * What the form holds; written after each change. What is empty is left out of a field's state, and
 * a long part of it is a number there, which changes with it: the part itself is in `_long`, by
 * field, and is sent only when it changes.
 */
export interface Values {
  /** The number of the last `set` that it includes: newer typing is not overwritten. */
  seq: number;
  fields: Record<string, FieldState>;
  /** How many runs that makes: 1, or more of a sweep. */
  runs: number;
  /**
   * Whether Run would run; `missing` and `wrong` are names of fields, for "Missing: Panel · Check:
   * From".
   */
  valid: boolean;
  missing: string[];
  wrong: string[];
  /** Of rules: "Fill in Symbol or Brand." */
  advice: string[];
  /** The preset that the form holds, or "". */
  preset: string;
  /** The values differ from those of the result shown. */
  changed: boolean;
  /** They, or the result's variable, are not those that the panel's cell names, if it names any. */
  differs: boolean;
  /** The variable of the result, if the user named it; else "". */
  output: string;
  /** The same as `%funcs call` and `panel` have it; "" where those don't reach this service. */
  line: string;
}

export interface FieldState {
  value?: FieldValue;
  errors?: Message[];
  /** Amber; never disable Run. */
  warnings?: Message[];
  /** What is said besides: "Removed 'X': Get Universe no longer lists it." */
  notes?: string[];
  /** The value came along from another function. */
  carried?: boolean;
  /** Of several values, those that are not among the options. */
  unknown?: string[];
}

/** What is wrong, and the value that would fix it in place of `instead`, as a button "Use …". */
export interface Message {
  text: string;
  use: string;
  instead: string;
}

export type FieldValue =
  | null
  | string
  | string[]
  | { each: string[] }
  | { constant: Constant }
  /** Of a list of objects how many, and 1 of an object: the values of their parts are by name. */
  | { rows: number }
  | { variable: string; about: string; each: boolean };

export interface Run {
  state: "empty" | "form" | "running" | "done" | "failed" | "cancelled";
  /** The number of the last finished run. */
  number: number;
  running: {
    name: string;
    elapsed: number;
    bytes: number;
    done: number;
    of: number;
    note: string;
    /** What the source asks meanwhile. */
    question: Question | null;
  } | null;
  result: ResultView | null;
  error: ErrorView | null;
  partial: { failed: number; of: number; rows: { label: string; error: string }[] } | null;
  /** Lines below the header of the result: warnings of the run. */
  warnings: string[];
  /** More pages of the result follow. */
  more: boolean;
  /** How many runs the history had after the last cell, which may have added some. */
  ran?: number;
}

/** What a source asks the user during a run: values, or to open a link. */
export interface Question {
  source: string;
  text: string;
  link: string;
  fields: {
    name: string;
    label: string;
    help: string;
    options: string[];
    default: string;
    required: boolean;
  }[];
}

export interface ErrorView {
  what: string;
  hint: string;
  details: string;
  retry: boolean;
  /** Runs that ended before a sweep was cancelled, which can be shown. */
  done: number;
  /** "Use NVRA US EQUITY", for a value that the service has refused. */
  fixes: (Message & { field: string })[];
}

export interface ResultView {
  number: number;
  function: string;
  /** "162,545 rows × 10 columns · 0.71 s" */
  summary: string;
  variable: string;
  /** The variable that held it, and was deleted or holds something else. */
  lost: string;
  /** What happened to the variable: "df no longer holds this result." */
  note: string;
  table: TableView;
  /** Of a result that is a text or a file. */
  file: FileView | null;
  /** Why the reply can't be shown as JSON; empty if it can. */
  noJson: string;
}

export interface FileView {
  /** "get_report.pdf" */
  name: string;
  /** "application/pdf, 12.3 kB" */
  about: string;
  /** Its media type. */
  kind: string;
  /** How it is shown; "" if it can't be. */
  shown: "image" | "audio" | "text" | "";
}

/** ---- The table ---- */

export type ColumnType =
  | "money"
  | "count"
  | "number"
  | "percent"
  | "date"
  | "datetime"
  | "text"
  | "id"
  | "bool"
  | "mixed";

export interface ColumnView {
  /** The position in the frame: what requests call it, since names may be empty or doubled. */
  at: number;
  name: string;
  /** What the catalog says of it, with its unit; often empty. */
  said: string;
  type: ColumnType;
  /** In pixels, a first width. */
  width: number;
  summary: ColumnSummary | null;
}

export interface ColumnSummary {
  /** 0 to 1. */
  empty: number;
  distinct: number;
  /** Of numbers and dates. */
  minimum: string;
  maximum: string;
  /** The same two for the header: "124k", "+72%". */
  short: [string, string];
  /** Heights of 0 to 1. */
  histogram: number[];
  /** The most frequent texts with their shares. */
  top: { text: string; share: number }[];
}

export interface TableView {
  rows: number;
  /** How many columns there are. */
  count: number;
  /** The first of them; `columns` gives others, and the summaries that are `null` here. */
  columns: ColumnView[];
  /** The first page, as the frame is. */
  page: TablePage;
}

export interface TablePage {
  /** Rows after the filters. */
  total: number;
  from: number;
  /** The columns of the cells, by position. */
  columns: number[];
  /** Shown texts, one array for each row; `null` for an empty cell. */
  rows: (string | null)[][];
  /** By position of the column, where it adds up. */
  sums: Record<string, string>;
  /**
   * With the first rows of a view: the heights of histograms for its rows, or the shares of the
   * most frequent values.
   */
  parts?: Record<string, number[]>;
}

export interface TableQuery {
  sort: { at: number; descending: boolean }[];
  filters: Filter[];
  /** Searched in all columns but the hidden ones. */
  find: string;
  hidden: number[];
}

/**
 * What makes another table of a result; columns are given by name. Requests of the table carry
 * their list as `steps`.
 */
export type Step =
  | { kind: "column"; name: string; expression: string }
  | ({ kind: "points" } & ChartPoints)
  | ({ kind: "pivot"; of: TableQuery } & PivotWish);

/** The points of a chart of a view, zoomed to a range of days. */
export interface ChartPoints {
  wish: ChartWish;
  low: number | null;
  high: number | null;
  of: TableQuery;
}

/** What is not there is chosen in Python. */
export interface PivotWish {
  rows?: string[];
  /** A column whose values become columns; "" for none. */
  columns?: string;
  /** A column of numbers; "" counts rows. */
  measure?: string;
  how?: How;
}

export type How = "sum" | "share" | "ratio" | "mean" | "count" | "first" | "last";

/** What was chosen for a pivot, and what can be. */
export interface PivotView extends Required<PivotWish> {
  keys: string[];
  measures: string[];
  hows: How[];
  /** How its values are computed, where that isn't plain. */
  note: string;
}

export type Filter =
  | { at: number; kind: "range"; low: string; high: string }
  | { at: number; kind: "values"; values: (string | null)[] }
  | { at: number; kind: "text"; text: string };

/** ---- The chart ---- */

/** What a person chose; what is not there, or what the frame can't give, is chosen in Python. */
export interface ChartWish {
  kind?: ChartKind;
  measure?: string;
  /** A column; "" for none. */
  colour?: string;
  x?: string;
  /** A step, such as "week", or "period:" and a column of named periods. */
  points?: string;
  show?: "value" | "sum" | "average" | "index" | "growth";
  /** Colour all lines, up to 200. */
  all?: boolean;
  /** A column with a panel for each of its values; "" for none. */
  split?: string;
  scale?: "linear" | "log";
}

export type ChartKind = "line" | "bar" | "area" | "stack" | "scatter" | "histogram";

export interface ChartView {
  kind: ChartKind;
  title: string;
  /** Why nothing is drawn, in one sentence; then there are no series. */
  why: string;
  /** "USD a day", "%", "" */
  unit: string;
  /** How values are written: "money", "count", "number", "percent", "index". */
  format: string;
  /** What a point of time stands for: "week"; else "". */
  step: string;
  /**
   * Days since 1970 may have fractions; of categories the places 0, 1, 2… with their labels; of a
   * histogram the edges, one more than there are values; of a scatter plot the range of the points.
   */
  x: {
    type: "time" | "category" | "number";
    values: number[];
    labels: string[];
    title?: string;
    format?: string;
  };
  /** The values of the column that splits the chart, the largest first. */
  panels: string[];
  /** What a column beside that of the colours calls its values: companies by their symbols. */
  names: Record<string, string>;
  /** Whether the axis of values is logarithmic. */
  log: boolean;
  /**
   * The largest first. Colour 0 to 7; -1 for thin and grey, -2 for what another one is compared
   * with.
   */
  series: Series[];
  /** Whether the axis begins at zero. */
  zero: boolean;
  /** Whether the values of the series add up. */
  adds: boolean;
  /** The rows that are drawn, after the filters of the table. */
  rows: number;
  notes: string[];
  choices: ChartChoice[];
  code: string;
  /** How many smaller series are not sent. */
  hidden: number;
}

export interface Series {
  name: string;
  colour: number;
  values: (number | null)[];
  panel?: string;
  /** The places of its own points, in a scatter plot. */
  xs?: number[];
}

export interface ChartChoice {
  name: "kind" | "measure" | "colour" | "x" | "points" | "show" | "split" | "scale";
  label: string;
  value: string;
  options: { value: string; label: string; disabled: boolean }[];
}

/** ---- History ---- */

export type RunNumber = number | string;

export interface HistoryRow {
  /** Of a run of an earlier kernel "14/3". */
  number: RunNumber;
  time: string;
  function: string;
  differs: { name: string; value: string }[];
  rows: number | null;
  seconds: number | null;
  variable: string;
  status: "done" | "failed" | "cancelled" | "running" | "not ended" | "waiting" | "lost";
  /** The service keeps it, under its number; another kernel may have started it. */
  kept: boolean;
  error: string;
  /** The result is held: it can be opened and compared. */
  held: boolean;
}

export interface CompareView {
  before: HistoryRow;
  after: HistoryRow;
  /** What to call them: "Before" and "After", or where arguments differ by these. */
  sides: [string, string];
  /** Their arguments differ, so neither is better or later. */
  neutral: boolean;
  /** Those that differ; of two functions those that both have. */
  args: { name: string; before: string; after: string }[];
  /** The others, in one line. */
  same: string;
  /** How many rows differ, or why the results can't be compared. */
  said: string;
  /** The runs whose results are no longer in memory: "Run again and compare". */
  gone: string[];
  /** The rows that differ, 50 at a time, with before, after, delta and percent. */
  columns: { name: string; type: ColumnType }[];
  rows: (string | null)[][];
  total: number;
  /** Sums (or means) by category in both. */
  totals: {
    title: string;
    unit: string;
    format: string;
    adds: boolean;
    rows: [string, number | null, number | null][];
  } | null;
  /** A line for each side. */
  chart: ChartView | null;
  code: string;
}

/** ---- Requests (page -> kernel) and replies ---- */

type Nothing = Record<never, never>;

/**
 * Each has `v: 1`, a number `id`, and its `kind`; unknown fields and values out of range are
 * refused.
 */
export interface Requests {
  hello: { in: Nothing; out: { ok: true } };
  /** 100 at a time; `found` counts them all. */
  functions: {
    in: { query: string; from: number };
    out: { sections: Section[]; total: number; found: number };
  };
  choose: { in: { function: string }; out: Nothing };
  /** Fill in the form that a link names. */
  link: { in: { text: string }; out: Nothing };
  /** Choose it, fill in its example, and run. */
  example: { in: { function: string }; out: Nothing };
  favourite: { in: { function: string; on: boolean }; out: Nothing };
  refresh: { in: Nothing; out: { said: string } };
  about: { in: Nothing; out: { facts: [string, string][] } };

  set: { in: { seq: number; field: string; value: PageValue }; out: Nothing };
  clear: { in: Nothing; out: Nothing };
  /** Remove a row of a list of objects, or add one if `at` is `null`. */
  row: { in: { field: string; at: number | null }; out: Nothing };
  /** `grouped`: in the order of their groups. */
  options: {
    in: { field: string; query: string; grouped: boolean; from: number };
    out: OptionPage;
  };
  list_again: { in: { field: string }; out: Nothing };
  paste: {
    in: { field: string; text: string };
    out: { values: string[]; unknown: string[]; repeated: number };
  };
  /** All values that a field lists, or those of one group: what "all 24" takes. */
  all_options: { in: { field: string; group: string; query: string }; out: { values: string[] } };
  /** `each`: it has several values for a field that takes one. */
  variables: {
    in: { field: string };
    out: { variables: { name: string; about: string; each: boolean }[] };
  };

  preset: { in: { name: string; function: string }; out: { said: string } };
  /** `exists`: nothing was done, since something of that name is there; ask, and send `replace`. */
  preset_save: { in: { name: string; replace: boolean }; out: { said: string; exists: boolean } };
  preset_delete: { in: { name: string }; out: { said: string } };

  /**
   * `values`: typed and not yet in the kernel's; `confirmed`: very many runs, or runs that change
   * data, were asked about.
   */
  run: {
    in: { seq: number; values: Record<string, PageValue>; confirmed: boolean };
    out: { asks: string };
  };
  cancel: { in: Nothing; out: Nothing };
  /** Answers a question; `null` declines. */
  answer: {
    in: { values: Record<string, string> | null };
    out: { errors: Record<string, string> };
  };
  /** Of `partial.rows`, by position; all that failed if empty. */
  retry_failed: { in: { rows: number[] }; out: Nothing };
  /** Run again what is shown, for all pages of its list. */
  all_pages: { in: Nothing; out: Nothing };
  /** Show what a cancelled sweep has done. */
  so_far: { in: Nothing; out: Nothing };
  dismiss: { in: Nothing; out: Nothing };
  /** The panel's cell now names what the form holds, and the variable of its run or "". */
  update_cell: { in: { output: string }; out: Nothing };

  rows: {
    in: { run: number; from: number; to: number; columns: number[]; query: TableQuery };
    out: TablePage;
  };
  columns: { in: { run: number; columns: number[] }; out: { columns: ColumnView[] } };
  values: {
    in: { run: number; at: number; query: string };
    out: { values: { text: string | null; count: number }[]; total: number };
  };
  /** The table that steps make. */
  shape: {
    in: { run: number; steps: Step[] };
    out: { table: TableView; pivot: PivotView | null };
  };
  table_code: {
    in: { run: number; query: TableQuery; steps?: Step[] };
    out: { code: string };
  };
  /** Give a view of the table to a variable. */
  assign: {
    in: { run: number; query: TableQuery; name: string; replace: boolean };
    out: { said: string; exists: boolean };
  };
  copy: {
    in: {
      run: number;
      from: number;
      to: number;
      columns: number[];
      query: TableQuery;
      names: boolean;
    };
    out: { text: string };
  };
  /** The columns whose names contain a text. */
  named: {
    in: { run: number; text: string };
    out: { columns: { at: number; name: string }[]; total: number };
  };
  /**
   * Of several cells: "count", and of numbers also "sum", "mean", "min" and "max", in brief and
   * exactly.
   */
  facts: {
    in: { run: number; from: number; to: number; columns: number[]; query: TableQuery };
    out: { facts: Fact[] };
  };
  /** The same of a column of a view, with how many values are missing and how many differ. */
  described: { in: { run: number; at: number; query: TableQuery }; out: { facts: Fact[] } };
  /** The fields of other functions that take the value of a cell, and how it is entered there. */
  uses: {
    in: { run: number; row: number; at: number; query: TableQuery };
    out: { uses: Use[] };
  };
  /** All of a cell, with some items of what its text holds as JSON. */
  cell: {
    in: {
      run: number;
      row: number;
      at: number;
      query: TableQuery;
      path: (string | number)[];
      from: number;
    };
    out: { text: string | null; node: JsonNode | null };
  };
  chart: {
    in: {
      run: number;
      wish: ChartWish;
      low: number | null;
      high: number | null;
      query: TableQuery;
      steps: Step[];
      tab: Tab;
    };
    out: ChartView;
  };
  /** A text, or the bytes of a file in base64. */
  file: { in: { run: number }; out: { file: string } };
  json: { in: { run: number; path: (string | number)[]; from: number; tab?: Tab }; out: JsonNode };
  /**
   * Where a text occurs: places on the way from the outermost value; `more` than are sent; `all`
   * was looked through.
   */
  json_find: {
    in: { run: number; text: string };
    out: { hits: number[][]; more: boolean; all: boolean };
  };
  json_text: { in: { run: number }; out: { text: string } };
  code: {
    in: { tab?: Tab };
    out: {
      blocks: { name: "magic" | "python" | "curl"; code: string; note: string }[];
      link: string;
    };
  };

  tab: { in: { tab: Tab }; out: Nothing };
  rename: {
    in: { name: string; replace: boolean };
    out: { variable: string; note: string; exists: boolean };
  };
  /**
   * `exists`: nothing was written, since the file is there; `data`, base64, is for the browser's
   * own download.
   */
  save: {
    in: {
      run: number;
      format: "csv" | "xlsx" | "parquet" | "json" | "file";
      name: string;
      replace: boolean;
      filtered: TableQuery | null;
      download: boolean;
    };
    out: { said: string; exists: boolean; name: string; data: string };
  };

  /** `kept`: with those that the service keeps, which takes longer. */
  history: { in: { kept: boolean }; out: { rows: HistoryRow[] } };
  /** Show a run that the service keeps, or delete it there. */
  fetch: { in: { kept: RunNumber }; out: Nothing };
  forget: { in: { kept: RunNumber }; out: Nothing };
  again: { in: { number: RunNumber }; out: Nothing };
  open: { in: { number: RunNumber }; out: Nothing };
  /** `again`: run again what is gone. */
  compare: {
    in: { before: RunNumber; after: RunNumber; from: number; again: boolean };
    out: CompareView;
  };
}

export type Fact = [name: string, brief: string, exact: string];

/** A field of another function, by what they are called, and by what requests call them. */
export interface Use {
  name: string;
  label: string;
  function: string;
  field: string;
  value: string | string[];
}

export type Tab = "table" | "chart" | "json" | "code";
/**
 * What the page sends as a value of a field: `null` clears it; a variable as "$name", and `{each:
 * ["$name"]}`.
 */
export type PageValue = null | string | string[] | { each: string[] } | { constant: Constant };

export interface Section {
  title: string;
  functions: Omit<FunctionView, "example">[];
}

/**
 * `text` is the beginning of the value, or where `whole` all of it; `total` is the number of its
 * items.
 */
export interface JsonNode {
  type: "object" | "array" | "string" | "number" | "boolean" | "null";
  text: string;
  total: number;
  whole: boolean;
  /** Up to 50 of its items. */
  children: {
    key: string | number;
    type: JsonNode["type"];
    text: string;
    total: number;
    whole: boolean;
  }[];
}

export type Request = {
  [K in keyof Requests]: { v: 1; id: number; kind: K } & Requests[K]["in"];
}[keyof Requests];
export type Reply = { v: 1; re: number } & ({ error: string[] } | object);

/** Events (kernel -> page), without a request: progress once a second, a toast. */
export type Event =
  | { v: 1; ev: "progress"; running: NonNullable<Run["running"]> }
  | { v: 1; ev: "said"; text: string };
