import type * as P from "../core/protocol";
import { path, type Range, type Zoom } from "./drawing";
import { axis, axisTexts, clamp, logAxis, shortText, ticks, timeTicks } from "./scales";
import { extent, fillOf, isFilled, type Placed, shapesOf } from "./shapes";

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

type Options = {
  canZoom: boolean;
  zoom: Zoom;
  hidden: string[];
  width: number;
  height: number;
  /** What the axis of values has to show, where panels share it. */
  shared?: Range;
};

/** Where everything of a chart of lines is, in pixels. */
export function planned(view: Placed, whole: P.ChartView, options: Options) {
  const { canZoom, zoom, hidden, width, height, shared } = options;
  const isTime = view.x.type === "time";
  const strip = canZoom && height > STRIP_FROM ? STRIP : 0;
  const tall = Math.max(1, height - TOP - FOOT - (strip && strip + STRIP_GAP));
  const lines = view.series.filter(({ name }) => !hidden.includes(name));
  const range = canZoom && zoom ? zoom : (view.ends ?? ends(view.x.values));
  const full: Range = [whole.x.values[0] ?? 0, whole.x.values.at(-1) ?? 1];

  const xs = view.x.values;
  const within = xs.map((_, at) => at).filter((at) => xs[at] >= range[0] && xs[at] <= range[1]);
  const inRange = lines.map((line) => ({ ...line, values: within.map((at) => line.values[at]) }));
  const [lowest, highest] = shared ?? extent({ ...view, panels: [], series: inRange }, []);
  const { y, texts } = axisOf(view, lowest, highest, clamp(Math.round(tall / 52), 3, 7));
  const longest = Math.max(...texts.map(({ length }) => length));
  const left = Math.max(48, longest * CHARACTER + 14);
  const wide = Math.max(1, width - left - RIGHT);

  const across = (of: Range) => (value: number) =>
    left + ((value - of[0]) / (of[1] - of[0])) * wide;
  const X = across(range);
  const turned = (value: number) => (view.log ? Math.log10(value) : value);
  const [first, last] = [turned(y.low), turned(y.high)];
  const Y = (value: number) => TOP + tall - ((turned(value) - first) / (last - first)) * tall;
  const marks = marksOf(view, range, wide);
  const shapes = shapesOf(view, lines, view.log ? y.low : 0);
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
    paths: shapes.map((shape) => ({
      line: shape.line,
      tops: shape.tops,
      d: path(xs, shape.tops, X, Y),
      fill: fillOf(shape, view, X, Y),
    })),
  };
}

/** The axis of values, with its labels. */
function axisOf(view: P.ChartView, low: number, high: number, about: number) {
  if (view.log) {
    const y = logAxis(low, high);
    return { y, texts: y.ticks.map((tick) => shortText(tick, view.format)) };
  }
  const y = axis(low, high, about, view.zero || isFilled(view));
  return { y, texts: axisTexts(y.ticks, view.format) };
}

/** Where the axis of points has ticks, with their labels. */
function marksOf({ x, step }: P.ChartView, range: Range, wide: number): [number, string][] {
  const about = Math.max(2, Math.floor(wide / 72));
  if (x.type === "category") return categoryTicks(x.labels, wide, range);
  if (x.type === "time") return timeTicks(range[0], range[1], about, step);
  const values = ticks(range[0], range[1], about);
  const texts = axisTexts(values, x.format ?? "number");
  return values.map((value, at) => [value, texts[at]]);
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
