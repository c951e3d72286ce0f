import { useMemo, useRef } from "preact/hooks";
import { plural } from "../core/format";
import type * as P from "../core/protocol";
import { useUniqueId } from "../core/useUniqueId";
import { briefly, caption, ink, type Range, REST, useSize, type Zoom } from "./drawing";
import { LineDrawing } from "./linedrawing";
import { type Plan, planned, TOP } from "./plan";
import { clamp, pointText, valueText } from "./scales";
import { placed } from "./shapes";
import { Spoken } from "./spoken";
import { Strip } from "./strip";
import { type PointValue, Tooltip } from "./tooltip";
import { useAnnounced, useCursor } from "./useCursor";
import { shortest, useDrag } from "./useDrag";
import { usePointer } from "./usePointer";

const NONE: string[] = [];

type Props = {
  view: P.ChartView;
  /** All of the time, of which `view` is a part. */
  whole?: P.ChartView;
  zoom?: Zoom;
  hidden?: string[];
  /** The line that all others are dimmed for. */
  dim?: string | null;
  onZoom?: (zoom: Zoom) => void;
  /** What the axis of values has to show, where panels share it. */
  shared?: Range;
  hook?: string;
};

/** Lines, areas, dots or bins over times, named periods or numbers, with a cursor and a zoom. */
export function Lines({
  view: drawn,
  whole = drawn,
  zoom = null,
  hidden = NONE,
  dim = null,
  onZoom,
  shared,
  hook = "plot",
}: Props) {
  const view = useMemo(() => placed(drawn), [drawn]);
  const box = useRef<HTMLDivElement>(null);
  const [width, height] = useSize(box);
  const clip = useUniqueId();
  const canZoom = Boolean(onZoom) && whole.x.values.length > 2;
  const plan = useMemo(
    () => planned(view, whole, { canZoom, zoom, hidden, width, height, shared }),
    [view, whole, zoom?.[0], zoom?.[1], hidden, width, height, shared?.[0], shared?.[1]],
  );
  const drawing = useMemo(() => <LineDrawing plan={plan} dim={dim} clip={clip} />, [plan, dim]);
  const cursor = useCursor(plan);
  const shift = (to: Range) => onZoom?.(zoomed(plan, to));
  const drag = useDrag(plan, zoom, shift);
  const pointer = usePointer(box, plan, { canZoom, cursor, drag });

  const { at } = cursor;
  const named = plan.lines.filter(({ colour }) => colour !== REST);
  const values = at < 0 ? [] : valuesAt(named, at);
  const signed = view.format === "percent" && plan.y.low < 0;
  const label = at < 0 ? summary(plan, named.length) : reading(plan, at, values, signed);
  useAnnounced(cursor, label);

  const keys = (event: KeyboardEvent) => {
    cursor.isByKey.current = true;
    const isPlain = !event.ctrlKey && !event.metaKey;
    if (isPlain && cursor.moveBy(event.key)) event.preventDefault();
    else if (event.key === "Escape" && at >= 0) {
      event.stopPropagation();
      event.preventDefault();
      cursor.leave();
    } else if (canZoom && "+=".includes(event.key)) {
      event.preventDefault();
      shift(halved(plan, at));
    } else if (canZoom && "-0".includes(event.key)) {
      event.preventDefault();
      onZoom?.(null);
    }
  };
  const x = at < 0 ? 0 : plan.X(view.x.values[at]);
  return (
    <div
      class="jf-plot"
      ref={box}
      tabindex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={label}
      data-jf={hook}
      onKeyDown={keys}
      onBlur={cursor.leave}
    >
      <svg
        width={width}
        height={height}
        aria-hidden="true"
        {...pointer}
        onDblClick={() => onZoom?.(null)}
      >
        {width > 0 && drawing}
        {at >= 0 && <Crosshair plan={plan} x={x} at={at} values={values} />}
        {drag.brush && <Brush plan={plan} range={drag.brush} />}
        {plan.strip > 0 && (
          <Strip whole={whole} hidden={hidden} plan={plan} shade={drag.moved ?? plan.range} />
        )}
      </svg>
      {at >= 0 && (
        <Tooltip plan={plan} x={x} title={when(plan, at)} values={values} signed={signed} />
      )}
      <Spoken view={view} lines={named} when={(place) => when(plan, place)} />
    </div>
  );
}

type MarkProps = { plan: Plan; x: number; at: number; values: PointValue[] };

const topOf = ({ paths }: Plan, name: string, at: number) =>
  paths.find(({ line }) => line.name === name)?.tops[at];

const Crosshair = ({ plan, x, at, values }: MarkProps) => (
  <>
    <line x1={x} x2={x} y1={TOP} y2={TOP + plan.tall} class="g-cross" />
    {values.map(({ line, value }) => (
      <circle
        key={line.name}
        cx={x}
        cy={plan.Y(topOf(plan, line.name, at) ?? value)}
        r="3.5"
        fill={ink(line.colour)}
        stroke="var(--jf-bg)"
        stroke-width="1.5"
      />
    ))}
  </>
);

const Brush = ({ plan, range: [from, to] }: { plan: Plan; range: Range }) => (
  <rect class="g-brush" x={from} width={to - from} y={TOP} height={plan.tall} />
);

/** What the point at a place stands for. */
function when({ view, range }: Plan, at: number) {
  const { type, values, labels, title, format = "" } = view.x;
  if (type === "time") return pointText(values[at], view.step);
  if (type === "category") return labels[at];
  const half = view.kind === "histogram" ? (range[1] - range[0]) / values.length / 2 : 0;
  const ends = half ? [values[at] - half, values[at] + half] : [values[at]];
  return `${title} ${ends.map((end) => valueText(end, format)).join(" to ")}`;
}

/** The values of the lines at a place, the largest first. */
function valuesAt(lines: Plan["lines"], at: number): PointValue[] {
  const values = lines.map((line) => ({ line, value: line.values[at] }));
  const known = values.filter((point): point is PointValue => point.value !== null);
  return known.sort((a, b) => b.value - a.value);
}

/** What is read of a chart without a cursor. */
function summary(plan: Plan, lines: number) {
  const { view, inside } = plan;
  const span = inside.length
    ? `${when(plan, inside[0])} to ${when(plan, inside.at(-1) as number)}`
    : "no values";
  return `${caption(view)}, ${plural(lines, "line")}, ${span}. Left and right arrows read values.`;
}

/** What is read of a point. */
function reading(plan: Plan, at: number, values: PointValue[], signed: boolean) {
  const { view } = plan;
  const brief = briefly(view);
  const texts = values.map(
    ({ line, value }) => `${brief(line.name)} ${valueText(value, view.format, signed)}`,
  );
  return `${when(plan, at)}: ${texts.join(", ")}`;
}

/** The zoom for a range: of categories whole ones, and none for nearly everything. */
function zoomed({ isTime, full }: Plan, [from, to]: Range): Zoom {
  const low = isTime ? from : Math.min(Math.round(from), full[1] - 1);
  const high = isTime ? to : Math.max(Math.round(to), low + 1);
  return high - low < (full[1] - full[0]) * 0.985 ? [low, high] : null;
}

/** Half of what is shown, around the cursor or the middle. */
function halved(plan: Plan, at: number): Range {
  const { range, full, view } = plan;
  const middle = at < 0 ? (range[0] + range[1]) / 2 : view.x.values[at];
  const half = Math.max((range[1] - range[0]) / 4, shortest(plan));
  return [clamp(middle - half, ...full), clamp(middle + half, ...full)];
}
