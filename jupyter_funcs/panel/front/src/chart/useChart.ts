import { useEffect, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { store, stored } from "../core/stored";
import type { Zoom } from "./drawing";

/** `of`: the labels of the points that the zoom is in. */
export type Chosen = { wish: P.ChartWish; zoom: Zoom; of: string; hidden: string[] };
type Shown = { key: string; whole: P.ChartView; view: P.ChartView };

const NOTHING: Chosen = { wish: {}, zoom: null, of: "", hidden: [] };
/** What was chosen stays while another tab is shown, and over a reload, by panel and function. */
const KEPT: WeakMap<object, Map<string, Chosen>> = new WeakMap();

/** What was chosen for the charts of a function. */
export function useChosen(result: P.ResultView) {
  const { channel, view } = usePanel();
  const key = view?.panel && `${view.panel}.chart`;
  const before = () => new Map<string, Chosen>(Object.entries((key && stored(key)) ?? {}));
  const kept = KEPT.get(channel) ?? before();
  KEPT.set(channel, kept);
  const [chosen, setChosen] = useState(() => kept.get(result.function) ?? NOTHING);
  const change = (more: Partial<Chosen>) => {
    const next = { ...chosen, ...more };
    kept.set(result.function, next);
    if (key) store(key, Object.fromEntries(kept));
    setChosen(next);
  };
  return { chosen, change };
}

/** What is drawn while the table shows the points of a chart: what they are made of. */
function sourceOf(steps: P.Step[], query: P.TableQuery) {
  const last = steps.at(-1);
  return last?.kind === "points"
    ? { steps: steps.slice(0, -1), of: last.of }
    : { steps, of: query };
}

/** All of a chart but the number of its request. */
const said = (view?: P.ChartView) => JSON.stringify({ ...view, re: 0 });
/** The chart before if it is the same: it isn't drawn again, and its cursor stays. */
const asBefore = (before: P.ChartView | undefined, now: P.ChartView) =>
  before && said(before) === said(now) ? before : now;

/** Ask for the points of a chart: those of all of the time, and those of a zoom in time. */
export function useChart(result: P.ResultView, { wish, zoom, of }: Chosen) {
  const { ask, seen, query, live } = usePanel();
  const [shown, setShown] = useState<Shown | null>(null);
  const [trouble, setTrouble] = useState("");
  const isGone = live === "gone";
  const { steps, of: rows } = sourceOf(seen.steps, query);
  const key = JSON.stringify([result.number, wish, rows.filters, rows.find, rows.hidden, steps]);
  useEffect(() => {
    if (isGone) return undefined;
    let current = true;
    const drawn = (range: Zoom) =>
      ask("chart", {
        run: result.number,
        wish,
        low: range?.[0] ?? null,
        high: range?.[1] ?? null,
        query: { ...rows, sort: [] },
        steps,
        tab: "chart",
      });
    const whole = shown?.key === key ? Promise.resolve(shown.whole) : drawn(null);
    const isTimeZoom = zoom && !of;
    Promise.all([whole, isTimeZoom ? drawn(zoom) : whole]).then(
      ([all, view]) => {
        if (!current) return;
        setShown((before) => ({
          key,
          whole: asBefore(before?.whole, all),
          view: asBefore(before?.view, view),
        }));
        setTrouble("");
      },
      (error) => current && setTrouble(error.message),
    );
    return () => {
      current = false;
    };
  }, [key, zoom?.[0], zoom?.[1], isGone]);
  return { shown, trouble };
}
