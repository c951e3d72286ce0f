/** A model without a kernel, which answers requests by a table; for Node (`page` makes it a browser) and for the stage. */

/** As the traits of a panel with a form of one field. */
export const VIEW = {
  trusted: true,
  public: false,
  cell: { id: "", names: false },
  service: { name: "demo", synthetic: true, account: "", tokenEnds: "", trouble: [], functions: 2 },
  function: {
    id: "get_panel_daily",
    name: "Get Panel Daily",
    about: "Daily spend of a panel.",
    group: "Panels",
    favourite: false,
    changesData: false,
    example: "",
  },
  fields: [],
  presets: [],
  start: null,
};
export const VALUES = {
  seq: 0,
  fields: {},
  runs: 1,
  valid: true,
  missing: [],
  wrong: [],
  advice: [],
  preset: "",
  changed: false,
  differs: false,
  line: "",
};
export const RUN = {
  state: "form",
  number: 0,
  running: null,
  result: null,
  error: null,
  partial: null,
  warnings: [],
  more: false,
};

/** A trait model as anywidget hands it over. `answers[kind]` is a reply, a function of the request, or `null` for silence. */
export class FakeModel {
  constructor(traits = {}, answers = {}) {
    this.traits = { view: VIEW, values: VALUES, run: RUN, tab: "table", ...traits };
    this.answers = { hello: { ok: true }, ...answers };
    this.asked = [];
    this.callbacks = {};
    this.comm_live = true;
  }
  get(trait) {
    const name = trait.slice(1);
    const value = this.traits[name] ?? this.ofView(name);
    return trait === "_tab" ? value : JSON.stringify(value);
  }
  /** Tests write the service and the options into the view, as long as they stay. */
  ofView(name) {
    const { view } = this.traits;
    if (name === "service") return view?.service;
    if (name !== "options" || !view) return undefined;
    return Object.fromEntries(view.fields.map((field) => [field.name, field.options]));
  }
  on(name, callback) {
    this.callbacks[name] ??= new Set();
    this.callbacks[name].add(callback);
  }
  off(name, callback) {
    this.callbacks[name]?.delete(callback);
  }
  emit(name, ...values) {
    for (const callback of [...(this.callbacks[name] ?? [])]) callback(...values);
  }
  /** As the kernel writes traits. */
  write(traits) {
    Object.assign(this.traits, traits);
    for (const name of Object.keys(traits)) this.emit(`change:_${name}`);
  }
  event(content) {
    this.emit("msg:custom", { v: 1, ...content });
  }
  send(request) {
    if (!this.comm_live) throw new Error("Cannot send");
    this.asked.push(request);
    const answer = this.answers[request.kind];
    if (answer === null) return;
    setTimeout(() => {
      const reply = typeof answer === "function" ? answer(request, this) : (answer ?? {});
      this.emit("msg:custom", { v: 1, re: request.id, ...reply });
    }, 0);
  }
  /** As when the kernel is restarted. */
  die() {
    this.comm_live = false;
    this.emit("comm_live_update");
  }
  kinds() {
    return this.asked.map((each) => each.kind);
  }
}

/** The groups of options with their sizes, as the kernel counts them. */
export function groupsOf(options) {
  const names = [...new Set(options.map(({ group }) => group))];
  return names.length > 1
    ? names.map((name) => [name, options.filter(({ group }) => group === name).length])
    : [];
}
