/**
 * The page's side of the conversation with the kernel: numbered requests, values on their way, and
 * whether it answers. Each view of a panel has its own.
 */

import { type Kernel, type Message, type Model, states } from "./model";
import type * as P from "./protocol";
import { TIMES } from "./times";
import { TypedValues } from "./typed";
import { RequestError, Waiting } from "./waiting";

export type Live = "live" | "busy" | "gone";
type Listener = (event: P.Event) => void;

const GONE = "The kernel has stopped. Run the cell again to continue.";
const ENDED = new Set(["dead", "terminating", "restarting", "autorestarting", "unknown"]);

export class Channel {
  readonly model: Model;
  readonly kernel: Kernel | undefined;
  live: Live = "live";
  progress: P.Run["running"] = null;
  readonly listeners = new Set<Listener>();
  readonly watchers = new Set<() => void>();
  private readonly typed = new TypedValues();
  private readonly waiting = new Waiting(() => this.look());
  // Other views of this panel hear the replies too.
  private id = Math.floor(Math.random() * 2 ** 40);
  /** When something was asked last. */
  private asked = 0;
  /** When the kernel said anything last. */
  private heard = 0;
  /** Whether a cell runs: with subshells the kernel's status doesn't say. */
  private working = false;
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
    this.waiting.fail("The panel has been closed.");
  }

  // What is asked

  /**
   * Send a request; the promise is refused with the kernel's lines, or when no reply comes in time.
   */
  ask<K extends keyof P.Requests>(
    kind: K,
    fields: P.Requests[K]["in"],
    limit: number = TIMES.reply,
  ): Promise<P.Requests[K]["out"]> {
    const isHello = kind === "hello";
    if (this.typed.size && kind !== "set" && !isHello) this.flush(kind !== "run");
    if (this.live === "gone" && !isHello) return Promise.reject(new Error(GONE));
    this.id += 1;
    const { id } = this;
    if (!isHello) this.asked = Date.now();
    // A cell that runs holds the replies of some kernels back: that isn't silence.
    const isExcused = () => this.isBusy() || (isHello && Date.now() - this.heard < limit);
    const silent = () => {
      if (!isHello) void this.hello();
    };
    const answer = this.waiting.answer(id, limit, isExcused, silent);
    try {
      this.model.send({ v: 1, id, kind, ...fields });
    } catch {
      this.turn("gone");
    }
    return answer;
  }

  /** Ask whether the kernel is there, as each view does when it is drawn. */
  async hello(limit = TIMES.hello) {
    await this.ask("hello", {}, limit).catch((error) => {
      if (!(error instanceof RequestError)) this.turn("gone");
    });
  }

  private readonly greet = () => void this.hello();

  /**
   * While somebody works with the panel, and nothing is heard: ask. Without an end, an idle kernel
   * would never be culled; one that is at a request may be too busy for another; and where no
   * kernel is to be seen, a cell may run.
   */
  private readonly beat = () => {
    if (!this.kernel?.iopubMessage) return;
    const now = Date.now();
    const isAttended = now - this.asked <= TIMES.attended || this.model.get("run")?.running;
    const isQuiet = now - this.heard >= TIMES.quiet;
    const isFree = !this.waiting.size && !this.isBusy() && this.live !== "gone";
    if (!isAttended || !isQuiet || !isFree || globalThis.document?.hidden) return;
    void this.hello(TIMES.silence);
  };

  private isBusy() {
    return this.working || this.kernel?.status === "busy";
  }

  // What is typed

  /** Hold a value of a field, and send it once nothing was typed for a moment. */
  set(field: string, value: P.PageValue) {
    this.typed.set(field, value);
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.flush(true), TIMES.typing);
    this.changed();
  }

  /** Set a field by what it holds now, as a late reply must; `undefined` leaves it. */
  change(field: string, next: (state: P.FieldState) => P.PageValue | undefined) {
    const value = next(this.values()?.fields[field] ?? {});
    if (value !== undefined) this.set(field, value);
  }

  /** Number what was typed, and send it unless the next request carries all values. */
  private flush(sends: boolean) {
    clearTimeout(this.typing);
    const last = this.model.get("values")?.seq ?? 0;
    const numbered = this.typed.number(last);
    if (!sends) return;
    for (const { field, typed } of numbered) {
      const reply = this.ask("set", { seq: typed.seq, field, value: typed.value });
      reply.catch((error: Error) => {
        this.typed.refuse(field, typed);
        this.tell({ v: 1, ev: "said", text: error.message });
        this.changed();
      });
    }
  }

  /** Run with the values that are shown: those that the kernel holds, and what was typed since. */
  run(confirmed: boolean) {
    this.flush(false);
    return this.ask("run", { seq: this.typed.seq, values: this.typed.values(), confirmed });
  }

  // What is known

  /** What changes with the function, with the service's state and the options that there are. */
  view() {
    const view: P.View | null = this.model.get("view");
    const service: P.ServiceView | null = this.model.get("service");
    const options: Record<string, P.OptionPage> | null = this.model.get("options");
    if (!view?.fields || !service) return null;
    const withOptions = (field: P.FieldView): P.FieldView => ({
      ...field,
      options: options?.[field.name] ?? null,
      parts: field.parts?.map(withOptions),
    });
    return { ...view, service, fields: view.fields.map(withOptions) };
  }

  /** What the form holds, with what was typed since the kernel last wrote it. */
  values(): P.Values | null {
    const values: P.Values | null = this.model.get("values");
    return values?.fields ? this.typed.over(values) : null;
  }

  // What is heard

  private readonly receive = (message: any) => {
    if (message?.v !== 1) return;
    this.heard = Date.now();
    // Whoever speaks is there, however late.
    if (this.live === "gone") this.turn("live");
    if (message.ev) this.tell(message);
    else this.waiting.reply(message);
  };

  private readonly arrived = () => this.typed.arrive(this.model.get("values")?.seq ?? 0);

  // What was told of a run is older than what is written now, or of an earlier run.
  private readonly ran = () => {
    this.progress = null;
  };

  private readonly hear = (_: unknown, { header, parent_header, content }: Message) => {
    this.heard = Date.now();
    const isOfCell = parent_header.msg_type === "execute_request";
    if (header.msg_type === "status" && isOfCell) this.working = content.execution_state === "busy";
    // Said at once; its process, and with it the status, may take seconds to end.
    if (header.msg_type === "shutdown_reply") this.turn("gone");
  };

  private readonly status = (_: unknown, status: string) => {
    if (ENDED.has(status)) this.turn("gone");
    // After a lost connection the panel's half in the kernel may still be there.
    else if (this.live === "gone" && !this.waiting.size) void this.hello();
  };

  private look() {
    if (this.live !== "gone") this.turn(this.waiting.isLate ? "busy" : "live");
  }

  private turn(live: Live) {
    if (this.live === live) return;
    this.live = live;
    this.working = false;
    if (live === "gone") this.waiting.fail(GONE);
    this.changed();
  }

  private tell(event: P.Event) {
    if (event.ev === "progress") this.progress = event.running;
    if (event.ev !== "said") this.changed();
    for (const listener of [...this.listeners]) listener(event);
  }

  private changed() {
    for (const watcher of [...this.watchers]) watcher();
  }
}

export { TIMES };
