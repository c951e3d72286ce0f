import type * as P from "../core/protocol";
import { type Line, path, type Range } from "./drawing";

/** Where the values of a line are drawn, and for areas where they begin. */
export interface Shape {
  line: Line;
  tops: Line["values"];
  bases: number[] | null;
}

/** A view of which each value has a place of its own, and where the first and last are to be. */
export type Placed = P.ChartView & { ends?: Range };

const FILLED = new Set<P.ChartKind>(["area", "stack", "histogram"]);
export const isFilled = ({ kind }: P.ChartView) => FILLED.has(kind);

const endsOf = ({ values }: P.ChartView["x"]): Range => [values[0], values.at(-1) as number];

/** Give the bins of a histogram their middles, and each point of a scatter plot a place. */
export function placed(view: P.ChartView): Placed {
  const { kind, x, series } = view;
  if (kind === "histogram") {
    const values = x.values.slice(1).map((end, at) => (end + x.values[at]) / 2);
    return { ...view, x: { ...x, values }, ends: endsOf(x) };
  }
  if (kind !== "scatter") return view;
  const points = series.flatMap((line) => line.values.map((value, at) => ({ line, at, value })));
  const placeOf = ({ line, at }: (typeof points)[number]) => line.xs?.[at] ?? 0;
  points.sort((a, b) => placeOf(a) - placeOf(b));
  const own = (line: Line) => points.map((point) => (point.line === line ? point.value : null));
  const [low, high] = endsOf(x);
  const margin = (high - low) * 0.02 || 1;
  return {
    ...view,
    x: { ...x, values: points.map(placeOf) },
    series: series.map((line) => ({ ...line, values: own(line) })),
    ends: [low - margin, high + margin],
  };
}

/** The lines as they are drawn: one above the other in a stack. */
export function shapesOf({ kind }: P.ChartView, lines: Line[], floor: number): Shape[] {
  if (kind !== "stack")
    return lines.map((line) => {
      const bases = FILLED.has(kind) ? line.values.map(() => floor) : null;
      return { line, tops: line.values, bases };
    });
  let bases = lines[0]?.values.map(() => 0) ?? [];
  return lines.map((line) => {
    const tops = bases.map((base, at) => base + (line.values[at] ?? 0));
    const shape = { line, tops, bases };
    bases = tops;
    return shape;
  });
}

/** The smallest and the largest of what is drawn, in the panels of a chart too. */
export function extent(view: P.ChartView, hidden: string[]): Range {
  const lines = view.series.filter(({ name }) => !hidden.includes(name));
  const panels = view.panels.length ? view.panels : [undefined];
  const tops = panels.flatMap((panel) => {
    const own = lines.filter((line) => panel === undefined || line.panel === panel);
    return shapesOf(view, own, 0).flatMap((shape) => shape.tops.flatMap((top) => top ?? []));
  });
  return [Math.min(...tops), Math.max(...tops)];
}

type Scale = (value: number) => number;

/** The path around an area, or around the bars of a histogram. */
export function fillOf({ tops, bases }: Shape, view: Placed, X: Scale, Y: Scale) {
  if (!bases) return "";
  const xs = view.x.values;
  if (view.kind === "histogram") {
    const [first, last] = view.ends as Range;
    const half = (last - first) / xs.length / 2;
    const bar = (top: number | null, at: number) =>
      `M${X(xs[at] - half)} ${Y(0)}V${Y(top ?? 0)}H${X(xs[at] + half)}V${Y(0)}Z`;
    return tops.map(bar).join("");
  }
  const there = xs.map((_, at) => at).filter((at) => tops[at] !== null);
  const back = there.toReversed().map((at) => `L${X(xs[at])} ${Y(bases[at])}`);
  return `${path(xs, tops, X, Y)}${back.join("")}Z`;
}
