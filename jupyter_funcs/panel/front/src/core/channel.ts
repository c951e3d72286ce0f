/**
 * The page's side of the conversation with the kernel: numbered requests, values on their way, and whether it answers.
 * Each view of a panel has its own.
 */

import type * as P from "./protocol";
export type Live = "live" | "busy" | "gone";
export type Listener = (event: P.Event) => void;

/** What anywidget hands over; the manager is there in JupyterLab, Notebook and Voila only. */
export interface Model {
  get(name: string): any;
  on(name: string, callback: (...args: any[]) => void): void;
  off(name: string, callback: (...args: any[]) => void): void;
  send(content: any): void;
  widget_manager?: { kernel?: Kernel };
}

interface Kernel {
  status: string;
  statusChanged?: Signal<string>;
  iopubMessage?: Signal<Message>;
}

interface Message {
  header: { msg_type: string };
  parent_header: { msg_type?: string };
  content: any;
}

interface Signal<T> {
  connect(slot: (sender: unknown, value: T) => void): void;
  disconnect(slot: (sender: unknown, value: T) => void): void;
}

interface Asked {
  late: boolean;
  resolve: (reply: any) => void;
  reject: (error: Error) => void;
}

export const GONE = "The kernel has stopped. Run the cell again to continue.";

/** In milliseconds. */
export const TIMES = {
  typing: 150,
  busy: 500,
  beat: 200,
  quiet: 800,
  silence: 1_000,
  attended: 60_000,
  hello: 10_000,
  reply: 60_000,
};

/** What a request was refused with: one to three lines. */
export class RequestError extends Error {
  constructor(readonly lines: string[]) {
    super(lines.join("\n"));
  }
}

/** The kernel's states by name: each is JSON text in a trait, and read once. */
const states = (model: Model): Model => {
  const read: Map<string, { text: string; value: any }> = new Map();
  const trait = (event: string) => event.replace(/^change:/, "change:_");
  return {
    get(name) {
      const text = model.get(`_${name}`);
      if (name === "tab") return text;
      if (read.get(name)?.text !== text) {
        read.set(name, { text, value: text ? JSON.parse(text) : null });
        const long = name === "values" ? JSON.parse(model.get("_long") || "{}") : {};
        for (const field of Object.keys(long))
          Object.assign(read.get(name)?.value.fields[field] ?? {}, long[field]);
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
  readonly model: Model;
  readonly kernel: Kernel | undefined;
  live: Live = "live";
  /** Typed and not yet in the kernel's `values`, by field; without a number it is not sent yet. */
  readonly typed = new Map<string, { value: P.PageValue; seq: number }>();
  seq = 0;
  // Other views of this panel hear the replies too.
  private id = Math.floor(Math.random() * 2 ** 40);
  /** When something was asked last. */
  private asked = 0;
  /** When the kernel said anything last. */
  private heard = 0;
  /** Whether a cell runs: with subshells the kernel's status doesn't say. */
  private working = false;
  progress: P.Run["running"] = null;
  private readonly waiting = new Map<number, Asked>();
  readonly listeners = new Set<Listener>();
  readonly watchers = new Set<() => void>();
  private typing: ReturnType<typeof setTimeout> | undefined;
  private readonly beating: ReturnType<typeof setInterval>;
  private readonly events: [string, (message: any) => void][];

  constructor(model: Model) {
    this.model = states(model);
    this.kernel = this.model.widget_manager?.kernel;
    this.events = [
      ["msg:custom", this.receive],
      ["change:values", this.arrived],
      ["change:run", this.ran],
      ["comm_live_update", this.greet],
    ];
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
    if (
      !this.kernel?.iopubMessage ||
      (now - this.asked > TIMES.attended && !this.model.get("run")?.running)
    )
      return;
    if (
      now - this.heard < TIMES.quiet ||
      this.waiting.size ||
      this.isBusy() ||
      this.live === "gone" ||
      globalThis.document?.hidden
    )
      return;
    void this.hello(TIMES.silence);
  };

  isBusy = () => this.working || this.kernel?.status === "busy";

  /** Send a request; the promise is refused with the kernel's lines, or when no reply comes in time. */
  ask<K extends keyof P.Requests>(
    kind: K,
    fields: P.Requests[K]["in"],
    limit: number = TIMES.reply,
  ): Promise<P.Requests[K]["out"]> {
    if (this.typed.size && kind !== "set" && kind !== "hello") this.flush(kind !== "run");
    if (this.live === "gone" && kind !== "hello") return Promise.reject(new Error(GONE));
    const id = ++this.id;
    if (kind !== "hello") this.asked = Date.now();
    return new Promise((resolve, reject) => {
      const expire = () => {
        // A cell that runs holds the replies of some kernels back: that is no silence.
        if (
          this.waiting.has(id) &&
          (this.isBusy() || (kind === "hello" && Date.now() - this.heard < limit))
        )
          timer = setTimeout(expire, limit);
        else if (this.waiting.delete(id)) {
          reject(new Error(`The kernel has not answered for ${limit / 1000} s.`));
          if (kind !== "hello") void this.hello();
        }
      };
      let timer = setTimeout(expire, limit);
      const ended = (end: (value: any) => void) => (value: any) => (
        clearTimeout(timer), end(value)
      );
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

  /** Hold a value of a field, and send it once nothing was typed for a moment. */
  set(field: string, value: P.PageValue) {
    this.typed.set(field, { value, seq: 0 });
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.flush(true), TIMES.typing);
    this.changed();
  }

  /** Number what was typed, and send it unless the next request carries all values. */
  flush(send: boolean) {
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
    const [view, service, options]: [
      P.View | null,
      P.ServiceView | null,
      Record<string, P.OptionPage> | null,
    ] = [this.model.get("view"), this.model.get("service"), this.model.get("options")];
    if (!view?.fields || !service) return null;
    return {
      ...view,
      service,
      fields: view.fields.map((field) => ({ ...field, options: options?.[field.name] ?? null })),
    };
  }

  /** What the form holds, with what was typed since the kernel last wrote it. */
  values(): P.Values | null {
    const values: P.Values | null = this.model.get("values");
    if (!values?.fields) return null;
    const fields = { ...values.fields };
    for (const [name, { value }] of this.typed) {
      if (fields[name]) fields[name] = { ...fields[name], value, carried: false };
    }
    return { ...values, fields };
  }

  /** Run with the values that are shown: those that the kernel holds, and what was typed since. */
  run(confirmed: boolean) {
    this.flush(false);
    const values = Object.fromEntries([...this.typed].map(([field, { value }]) => [field, value]));
    return this.ask("run", { seq: this.seq, values, confirmed });
  }

  receive = (message: any) => {
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
    for (const [field, typed] of this.typed)
      if (typed.seq && typed.seq <= seq) this.typed.delete(field);
    this.seq = Math.max(this.seq, seq);
  };

  // What was told of a run is older than what is written now, or of an earlier run.
  ran = () => void (this.progress = null);

  hear = (_: unknown, { header, parent_header, content }: Message) => {
    this.heard = Date.now();
    if (header.msg_type === "status" && parent_header.msg_type === "execute_request")
      this.working = content.execution_state === "busy";
    // Said at once; its process, and with it the status, may take seconds to end.
    if (header.msg_type === "shutdown_reply") this.turn("gone");
  };

  status = (_: unknown, status: string) => {
    if (["dead", "terminating", "restarting", "autorestarting", "unknown"].includes(status))
      this.turn("gone");
    // After a lost connection the panel's half in the kernel may still be there.
    else if (this.live === "gone" && this.waiting.size === 0) void this.hello();
  };

  look() {
    if (this.live !== "gone")
      this.turn([...this.waiting.values()].some((each) => each.late) ? "busy" : "live");
  }

  turn(live: Live) {
    if (this.live === live) return;
    this.live = live;
    this.working = false;
    if (live === "gone") this.fail(GONE);
    this.changed();
  }

  fail(why: string) {
    for (const { reject } of this.waiting.values()) reject(new Error(why));
    this.waiting.clear();
  }

  tell(event: P.Event) {
    if (event.ev === "progress") this.progress = event.running;
    if (event.ev !== "said") this.changed();
    for (const listener of [...this.listeners]) listener(event);
  }

  changed() {
    for (const watcher of [...this.watchers]) watcher();
  }
}
