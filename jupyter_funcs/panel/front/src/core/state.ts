import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import type { Channel } from "./channel";
import type * as P from "./protocol";
export type PanelState = ReturnType<typeof usePanelState>;

export const PanelContext = createContext<PanelState>(null as unknown as PanelState);

/** An id that no other panel of the page has; Preact's own begin again in each. */
export const useUniqueId = () => useState(() => `jf-${Math.random().toString(36).slice(2, 12)}`)[0];

/** Everything that a part needs: what the kernel says, and what may be asked of it. */
export const usePanel = () => useContext(PanelContext);

export const ALL: P.TableQuery = { sort: [], filters: [], find: "", hidden: [] };
const UNSEEN = { number: 0, query: ALL, place: { top: 0, left: 0 } };
const NO_RUN: P.Run = {
  state: "empty",
  number: 0,
  running: null,
  result: null,
  error: null,
  partial: null,
  warnings: [],
};
const TRAITS = [
  "change:view",
  "change:service",
  "change:options",
  "change:values",
  "change:run",
  "change:tab",
];

/** Read or write what outlives a reload; a page may have no storage, or a full one. */
function stored(key: string, value?: object): any {
  try {
    if (value) sessionStorage.setItem(key, JSON.stringify(value));
    else return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** Copy by the clipboard, or where a page has none (without TLS) by a selection. */
async function copied(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const box = document.createElement("textarea");
    box.value = text;
    box.style.cssText = "position: fixed; opacity: 0";
    const before = document.activeElement as HTMLElement | null;
    document.body.append(box);
    box.select();
    const done = document.execCommand?.("copy") ?? false;
    box.remove();
    before?.focus({ preventScroll: true });
    return done;
  }
}

export function usePanelState(channel: Channel, root: HTMLElement) {
  const { model } = channel;
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const [said, announce] = useState("");
  const [toasted, setToast] = useState("");
  const [folded, fold] = useState(() => Boolean(model.get("run")?.result));
  const [pressed, setPressed] = useState(0);
  const [drawer, setDrawer] = useState(false);
  const [stacked, setStacked] = useState(false);
  const [wanted, setWanted] = useState<P.Tab | null>(null);
  const [looked, setLooked] = useState(() => stored(model.get("view")?.panel) ?? UNSEEN);
  const [asks, setAsks] = useState("");
  const chose = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const toast = (text: string) => {
    clearTimeout(timer.current);
    setToast(text);
    timer.current = setTimeout(() => setToast(""), Math.min(12_000, 2500 + 50 * text.length));
  };

  // Before the first paint, since effects wait for a frame and what the kernel says meanwhile would be lost.
  useLayoutEffect(() => {
    const draw = () => redraw(undefined);
    const arrived = () => (setWanted(null), draw());
    const hear = (event: P.Event) => event.ev === "said" && toast(event.text);
    for (const each of TRAITS) model.on(each, each === "change:tab" ? arrived : draw);
    channel.watchers.add(draw);
    channel.listeners.add(hear);
    draw();
    return () => {
      for (const each of TRAITS) model.off(each, each === "change:tab" ? arrived : draw);
      channel.watchers.delete(draw);
      channel.listeners.delete(hear);
      clearTimeout(timer.current);
    };
  }, [channel]);

  const view = channel.view();
  const run: P.Run = { ...NO_RUN, ...model.get("run") };
  if (run.running && channel.progress) run.running = { ...run.running, ...channel.progress };
  const number = run.result?.number ?? 0;
  const chosen = view?.function?.id;
  const seen =
    looked.number === number ? looked : { number, query: ALL, place: { top: 0, left: 0 } };
  useEffect(() => {
    setPressed(0);
    setAsks("");
    if (chose.current)
      (
        root.querySelector(
          '[data-jf="form"] :is(input, textarea, [role=radio][tabindex="0"])',
        ) as HTMLElement | null
      )?.focus({ preventScroll: true });
    chose.current = false;
  }, [chosen]);
  useEffect(() => fold(Boolean(run.result)), [chosen, number]);
  // What says so stands below the drawer.
  useEffect(() => void (channel.live === "gone" && setDrawer(false)), [channel.live]);
  useEffect(() => {
    if (run.state === "running") fold(true);
    else if (run.error) fold(Boolean(run.result));
    else if (run.result) announce(run.result.summary);
  }, [run.state, run.number]);

  /** Say why a request was refused; for those whose answer nobody waits for. */
  const tell = (reply: Promise<unknown>) => reply.catch((error: Error) => toast(error.message));

  return {
    channel,
    view,
    /** What the form holds, with what was typed since. */
    values: channel.values(),
    run,
    live: channel.live,
    tab: (wanted ?? model.get("tab") ?? "table") as P.Tab,
    ask: channel.ask.bind(channel),
    set: channel.set.bind(channel),
    tell,
    /** Run pressed: the form then says what is missing, and very many runs are asked about. */
    async submit(confirmed: boolean = false) {
      if (run.state === "running") return;
      setPressed((times) => times + 1);
      setAsks("");
      await tell(channel.run(confirmed).then((reply) => setAsks(reply.asks ?? "")));
    },
    asks,
    forget: () => setAsks(""),
    /** Empty the form. */
    clear() {
      setPressed(0);
      setAsks("");
      void tell(channel.ask("clear", {}));
    },
    /** Open the search for a function. */
    search: () => (root.querySelector('[data-jf="picker"]') as HTMLElement | null)?.click(),
    /** Choose a function, and go on in its first field. */
    choose(id: string) {
      chose.current = true;
      void tell(channel.ask("choose", { function: id }));
    },
    async copy(text: string) {
      toast((await copied(text)) ? "Copied" : "The browser did not allow copying.");
    },
    showTab(tab: P.Tab) {
      setWanted(tab);
      void tell(channel.ask("tab", { tab }));
    },
    /** Read to whoever listens to a screen reader. */
    announce,
    said,
    toast,
    toasted,
    /** Narrow: the form is one line of chips. */
    folded,
    fold,
    /** How often Run was pressed for this function, since the form was cleared. */
    pressed,
    /** The inputs stand above the result at any width. */
    stacked,
    setStacked,
    /** History is open. */
    drawer,
    setDrawer,
    /** What the table shows, which the chart and a filtered file follow, and where it is scrolled to: both outlive a reload. */
    query: seen.query,
    setQuery: (query: P.TableQuery) => (
      stored(view?.panel ?? "", { ...seen, query }), setLooked({ ...seen, query })
    ),
    place: seen.place,
    /** Not drawn again for it. */
    setPlace: (top: number, left: number) => (
      Object.assign(seen.place, { top, left }), stored(view?.panel ?? "", seen)
    ),
  };
}

/** Look at an element before it is painted, and whenever its size changes. */
export function useResize(
  ref: { current: HTMLElement | null },
  look: (box: HTMLElement) => void,
  changes: unknown[] = [],
) {
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return undefined;
    look(box);
    if (!globalThis.ResizeObserver) return undefined;
    const observer = new ResizeObserver(() => look(box));
    observer.observe(box);
    return () => observer.disconnect();
  }, changes);
}

/** Choose by arrow keys, Home and End among the children of what has the keys. */
export function arrows(
  event: KeyboardEvent,
  at: number,
  many: number,
  choose: (at: number) => void,
) {
  const go = {
    ArrowRight: at + 1,
    ArrowDown: at + 1,
    ArrowLeft: at - 1,
    ArrowUp: at - 1,
    Home: 0,
    End: many - 1,
  }[event.key];
  if (go === undefined) return;
  event.preventDefault();
  const next = (go + many) % many;
  choose(next);
  ((event.currentTarget as HTMLElement).children[next] as HTMLElement).focus();
}

/** Hand a file to the browser. */
export function download(name: string, href: string) {
  Object.assign(document.createElement("a"), { download: name, href }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}

/**
 * What the kernel answers to a request, which is sent again when something changes.
 *
 *
 * the reply, and why there is none
 */
export function useReply<K extends keyof P.Requests>(
  kind: K,
  fields: P.Requests[K]["in"],
  changes: unknown[],
): [P.Requests[K]["out"] | null, string] {
  const { ask, live } = usePanel();
  const [[reply, trouble], set] = useState<[P.Requests[K]["out"] | null, string]>([null, ""]);
  useEffect(() => {
    let current = true;
    if (live !== "gone")
      ask(kind, fields).then(
        (told) => current && set([told, ""]),
        (error) => current && set([null, error.message]),
      );
    return () => void (current = false);
  }, changes);
  return [reply, trouble];
}
