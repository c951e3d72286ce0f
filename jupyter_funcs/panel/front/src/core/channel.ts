/**
 * The page's side of the conversation with the kernel: numbered requests, values on their way, and whether it answers.
 * Each view of a panel has its own.
 */

/** @import * as P from "./protocol.js" */
/** @typedef {"live" | "busy" | "gone"} Live */
/** @typedef {(event: P.Event) => void} Listener */

/**
 * What anywidget hands over; the manager is there in JupyterLab, Notebook and Voila only.
 * @typedef {object} Model
 * @property {(name: string) => any} get
 * @property {(name: string, callback: (...args: any[]) => void) => void} on
 * @property {(name: string, callback: (...args: any[]) => void) => void} off
 * @property {(content: any) => void} send
 * @property {{ kernel?: Kernel }} [widget_manager]
 */
/** @typedef {{ status: string, statusChanged?: Signal<string>, iopubMessage?: Signal<Message> }} Kernel */
/** @typedef {{ header: { msg_type: string }, parent_header: { msg_type?: string }, content: any }} Message */
/** @template T @typedef {{ connect: (slot: (sender: unknown, value: T) => void) => void, disconnect: (slot: (sender: unknown, value: T) => void) => void }} Signal */

export const GONE = "The kernel has stopped. Run the cell again to continue.";

/** In milliseconds. */
export const TIMES = { typing: 150, busy: 500, beat: 200, quiet: 800, silence: 1_000, attended: 60_000, hello: 10_000, reply: 60_000 };

/** What a request was refused with: one to three lines. */
export class RequestError extends Error {
  /** @param {string[]} lines */
  constructor(lines) {
    super(lines.join("\n"));
    this.lines = lines;
  }
}

/**
 * The kernel's states by name: each is JSON text in a trait, and read once.
 * @param {Model} model
 * @returns {Model}
 */
const states = (model) => {
  /** @type {Map<string, { text: string, value: any }>} */
  const read = new Map();
  const trait = (/** @type {string} */ event) => event.replace(/^change:/, "change:_");
  return {
    get(name) {
      const text = model.get(`_${name}`);
      if (name === "tab") return text;
      if (read.get(name)?.text !== text) {
        read.set(name, { text, value: text ? JSON.parse(text) : null });
        const long = name === "values" ? JSON.parse(model.get("_long") || "{}") : {};
        for (const field of Object.keys(long)) Object.assign(read.get(name)?.value.fields[field] ?? {}, long[field]);
      }
      return read.get(name)?.value;
    },
    on: (event, callback) => model.on(trait(event), callback),
    off: (event, callback) => model.off(trait(event), callback),
    send: (content) => model.send(content),
    widget_manager: model.widget_manager,
  };
};

export class Channel {
  /** @param {Model} model */
  constructor(model) {
    this.model = states(model);
    /** @type {Live} */
    this.live = "live";
    /** Typed and not yet in the kernel's `values`, by field; without a number it is not sent yet. @type {Map<string, { value: P.PageValue, seq: number }>} */
    this.typed = new Map();
    this.seq = 0;
    // Other views of this panel hear the replies too.
    this.id = Math.floor(Math.random() * 2 ** 40);
    /** When something was asked last, and when the kernel said anything last. */
    this.asked = this.heard = 0;
    /** Whether a cell runs: with subshells the kernel's status doesn't say. */
    this.working = false;
    /** @type {P.Run["running"]} */
    this.progress = null;
    /** @type {Map<number, { late: boolean, resolve: (reply: any) => void, reject: (error: Error) => void }>} */
    this.waiting = new Map();
    /** @type {Set<Listener>} */
    this.listeners = new Set();
    /** @type {Set<() => void>} */
    this.watchers = new Set();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.typing = undefined;
    this.kernel = this.model.widget_manager?.kernel;
    /** @type {[string, (message: any) => void][]} */
    this.events = [["msg:custom", this.receive], ["change:values", this.arrived], ["change:run", this.ran], ["comm_live_update", this.greet]];
    for (const [event, callback] of this.events) this.model.on(event, callback);
    this.kernel?.statusChanged?.connect(this.status);
    this.kernel?.iopubMessage?.connect(this.hear);
    this.beating = setInterval(this.beat, TIMES.beat);
  }

  close() {
    clearTimeout(this.typing);
    clearInterval(this.beating);
    for (const [event, callback] of this.events) this.model.off(event, callback);
    this.kernel?.statusChanged?.disconnect(this.status);
    this.kernel?.iopubMessage?.disconnect(this.hear);
    this.fail("The panel has been closed.");
  }

  /** Ask whether the kernel is there, as each view does when it is drawn. */
  async hello(limit = TIMES.hello) {
    await this.ask("hello", {}, limit).catch((error) => {
      if (!(error instanceof RequestError)) this.turn("gone");
    });
  }

  greet = () => void this.hello();

  /**
   * While somebody works with the panel, and nothing is heard: ask. Without an end, an idle kernel would never be culled;
   * one that is at a request may be too busy for another; and where no kernel is to be seen, a cell may run.
   */
  beat = () => {
    const now = Date.now();
    if (!this.kernel?.iopubMessage || (now - this.asked > TIMES.attended && !this.model.get("run")?.running)) return;
    if (now - this.heard < TIMES.quiet || this.waiting.size || this.isBusy() || this.live === "gone" || globalThis.document?.hidden) return;
    void this.hello(TIMES.silence);
  };

  isBusy = () => this.working || this.kernel?.status === "busy";

  /**
   * Send a request; the promise is refused with the kernel's lines, or when no reply comes in time.
   * @template {keyof P.Requests} K
   * @param {K} kind
   * @param {P.Requests[K]["in"]} fields
   * @param {number} [limit]
   * @returns {Promise<P.Requests[K]["out"]>}
   */
  ask(kind, fields, limit = TIMES.reply) {
    if (this.typed.size && kind !== "set" && kind !== "hello") this.flush(kind !== "run");
    if (this.live === "gone" && kind !== "hello") return Promise.reject(new Error(GONE));
    const id = ++this.id;
    if (kind !== "hello") this.asked = Date.now();
    return new Promise((resolve, reject) => {
      const expire = () => {
        // A cell that runs holds the replies of some kernels back: that is no silence.
        if (this.waiting.has(id) && (this.isBusy() || (kind === "hello" && Date.now() - this.heard < limit))) timer = setTimeout(expire, limit);
        else if (this.waiting.delete(id)) {
          reject(new Error(`The kernel has not answered for ${limit / 1000} s.`));
          if (kind !== "hello") void this.hello();
        }
      };
      let timer = setTimeout(expire, limit);
      /** @param {(value: any) => void} end */
      const ended = (end) => (/** @type {any} */ value) => (clearTimeout(timer), end(value));
      const asked = { late: false, resolve: ended(resolve), reject: ended(reject) };
      this.waiting.set(id, asked);
      setTimeout(() => {
        asked.late = true;
        this.look();
      }, TIMES.busy);
      try {
        this.model.send({ v: 1, id, kind, ...fields });
      } catch {
        this.turn("gone");
      }
    });
  }

  /**
   * Hold a value of a field, and send it once nothing was typed for a moment.
   * @param {string} field
   * @param {P.PageValue} value
   */
  set(field, value) {
    this.typed.set(field, { value, seq: 0 });
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.flush(true), TIMES.typing);
    this.changed();
  }

  /**
   * Number what was typed, and send it unless the next request carries all values.
   * @param {boolean} send
   */
  flush(send) {
    clearTimeout(this.typing);
    for (const [field, typed] of this.typed) {
      if (typed.seq) continue;
      this.seq = Math.max(this.seq, this.model.get("values")?.seq ?? 0) + 1;
      typed.seq = this.seq;
      if (!send) continue;
      this.ask("set", { seq: typed.seq, field, value: typed.value }).catch((error) => {
        if (this.typed.get(field) === typed) this.typed.delete(field);
        this.tell({ v: 1, ev: "said", text: error.message });
        this.changed();
      });
    }
  }

  /** What changes with the function, with the service's state and the options that there are. */
  view() {
    /** @type {[P.View | null, P.ServiceView | null, Record<string, P.OptionPage> | null]} */
    const [view, service, options] = [this.model.get("view"), this.model.get("service"), this.model.get("options")];
    if (!view?.fields || !service) return null;
    return { ...view, service, fields: view.fields.map((field) => ({ ...field, options: options?.[field.name] ?? null })) };
  }

  /** What the form holds, with what was typed since the kernel last wrote it. @returns {P.Values | null} */
  values() {
    /** @type {P.Values | null} */
    const values = this.model.get("values");
    if (!values?.fields) return null;
    const fields = { ...values.fields };
    for (const [name, { value }] of this.typed) {
      if (fields[name]) fields[name] = { ...fields[name], value, carried: false };
    }
    return { ...values, fields };
  }

  /**
   * Run with the values that are shown: those that the kernel holds, and what was typed since.
   * @param {boolean} confirmed
   */
  run(confirmed) {
    this.flush(false);
    const values = Object.fromEntries([...this.typed].map(([field, { value }]) => [field, value]));
    return this.ask("run", { seq: this.seq, values, confirmed });
  }

  /** @param {any} message */
  receive = (message) => {
    if (message?.v !== 1) return;
    this.heard = Date.now();
    // Whoever speaks is there, however late.
    if (this.live === "gone") this.turn("live");
    if (message.ev) return this.tell(message);
    const asked = this.waiting.get(message.re);
    if (!asked) return;
    this.waiting.delete(message.re);
    if (message.error) asked.reject(new RequestError(message.error));
    else asked.resolve(message);
    this.look();
  };

  arrived = () => {
    const { seq = 0 } = this.model.get("values") ?? {};
    for (const [field, typed] of this.typed) if (typed.seq && typed.seq <= seq) this.typed.delete(field);
    this.seq = Math.max(this.seq, seq);
  };

  // What was told of a run is older than what is written now, or of an earlier run.
  ran = () => void (this.progress = null);

  /** @param {unknown} _ @param {Message} message */
  hear = (_, { header, parent_header, content }) => {
    this.heard = Date.now();
    if (header.msg_type === "status" && parent_header.msg_type === "execute_request") this.working = content.execution_state === "busy";
    // Said at once; its process, and with it the status, may take seconds to end.
    if (header.msg_type === "shutdown_reply") this.turn("gone");
  };

  /** @param {unknown} _ @param {string} status */
  status = (_, status) => {
    if (["dead", "terminating", "restarting", "autorestarting", "unknown"].includes(status)) this.turn("gone");
    // After a lost connection the panel's half in the kernel may still be there.
    else if (this.live === "gone" && this.waiting.size === 0) void this.hello();
  };

  look() {
    if (this.live !== "gone") this.turn([...this.waiting.values()].some((each) => each.late) ? "busy" : "live");
  }

  /** @param {Live} live */
  turn(live) {
    if (this.live === live) return;
    this.live = live;
    this.working = false;
    if (live === "gone") this.fail(GONE);
    this.changed();
  }

  /** @param {string} why */
  fail(why) {
    for (const { reject } of this.waiting.values()) reject(new Error(why));
    this.waiting.clear();
  }

  /** @param {P.Event} event */
  tell(event) {
    if (event.ev === "progress") this.progress = event.running;
    if (event.ev !== "said") this.changed();
    for (const listener of [...this.listeners]) listener(event);
  }

  changed() {
    for (const watcher of [...this.watchers]) watcher();
  }
}
