import type * as P from "../core/protocol";
import { type Line, path, type Range, type Zoom } from "./drawing";
import { axis, axisTexts, clamp, timeTicks } from "./scales";

/** Pixels around the lines. */
export const TOP = 8;
const RIGHT = 8;
export const FOOT = 24;
/** The strip below a chart that can be zoomed, and the space above it. */
const STRIP = 34;
const STRIP_GAP = 8;
const STRIP_FROM = 220; // a chart that is lower has none
const CHARACTER = 6.5;

export type Plan = ReturnType<typeof planned>;

type Options = { canZoom: boolean; zoom: Zoom; hidden: string[]; width: number; height: number };

/** Where everything of a chart of lines is, in pixels. */
export function planned(view: P.ChartView, whole: P.ChartView, options: Options) {
  const { canZoom, zoom, hidden, width, height } = options;
  const isTime = view.x.type === "time";
  const strip = canZoom && height > STRIP_FROM ? STRIP : 0;
  const tall = Math.max(1, height - TOP - FOOT - (strip && strip + STRIP_GAP));
  const lines = view.series.filter(({ name }) => !hidden.includes(name));
  const range = canZoom && zoom ? zoom : ends(view.x.values);
  const full: Range = [whole.x.values[0] ?? 0, whole.x.values.at(-1) ?? 1];

  const xs = view.x.values;
  const within = xs.map((_, at) => at).filter((at) => xs[at] >= range[0] && xs[at] <= range[1]);
  const values = lines.flatMap((line) => within.flatMap((at) => line.values[at] ?? []));
  const about = clamp(Math.round(tall / 52), 3, 7);
  const y = axis(Math.min(...values), Math.max(...values), about, view.zero);
  const texts = axisTexts(y.ticks, view.format);
  const longest = Math.max(...texts.map(({ length }) => length));
  const left = Math.max(48, longest * CHARACTER + 14);
  const wide = Math.max(1, width - left - RIGHT);

  const across = (of: Range) => (value: number) =>
    left + ((value - of[0]) / (of[1] - of[0])) * wide;
  const X = across(range);
  const Y = (value: number) => TOP + tall - ((value - y.low) / (y.high - y.low)) * tall;
  const marks = isTime
    ? timeTicks(range[0], range[1], Math.max(2, Math.floor(wide / 72)), view.step)
    : categoryTicks(view.x.labels, wide, range);
  return {
    view,
    lines,
    isTime,
    range,
    full,
    y,
    texts,
    marks,
    width,
    height,
    strip,
    tall,
    left,
    wide,
    X,
    Y,
    stripX: across(full),
    /** The value of a pixel of a range. */
    valueAt: (x: number, of: Range) => of[0] + ((x - left) / wide) * (of[1] - of[0]),
    /** The places of points that a cursor stops at. */
    inside: within.filter((at) => lines.some((line) => line.values[at] !== null)),
    paths: lines.map((line: Line) => ({ line, d: path(xs, line.values, X, Y) })),
  };
}

/** The first and the last value; a single one is in the middle. */
function ends(values: number[]): Range {
  const [first, last] = [values[0], values.at(-1) as number];
  return first === last ? [first - 0.5, last + 0.5] : [first, last];
}

/** As many labels of categories as have room, with their places. */
function categoryTicks(labels: string[], wide: number, [low, high]: Range): [number, string][] {
  const longest = Math.min(16, Math.max(4, ...labels.map(({ length }) => length)));
  const step = Math.max(1, Math.ceil(((high - low + 1) * (longest * CHARACTER + 16)) / wide));
  const ticks = labels.map((label, at): [number, string] => [
    at,
    label.length > 16 ? `${label.slice(0, 15)}…` : label,
  ]);
  return ticks.filter(([at]) => at >= low && at <= high && (at - Math.ceil(low)) % step === 0);
}
