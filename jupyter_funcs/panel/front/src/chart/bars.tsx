import { useRef, useState } from "preact/hooks";
import type * as P from "../core/protocol";
import { briefly, type Range, sharp, useSize } from "./drawing";
import { axisTexts, clamp, logAxis, shortText, ticks, valueText } from "./scales";
import { extent } from "./shapes";

const CHARACTER = 7.4; // pixels
const VALUE_ROOM = 116;
const AXIS_ROOM = 28;

type Plan = ReturnType<typeof plannedBars>;

type BarsProps = {
  view: P.ChartView;
  /** What the axis of values has to show, where panels share it. */
  shared?: Range;
  hook?: string;
};

/** One bar for each category. */
export function Bars({ view, shared, hook = "plot" }: BarsProps) {
  const box = useRef<HTMLDivElement>(null);
  const [width, height] = useSize(box);
  const [at, setAt] = useState(-1);
  const plan = plannedBars(view, width, height, shared);
  const { names, values, high } = plan;
  const leave = () => setAt(-1);
  const text = (bar: number) => `${names[bar]} ${valueText(values[bar], view.format)}`;
  const keys = (event: KeyboardEvent) => {
    const next = nextBar(event.key, at, values.length - 1);
    if (next === undefined) return;
    event.preventDefault();
    setAt(next);
  };
  const all = `${view.title}. ${values.map((_, bar) => text(bar)).join(", ")}`;
  return (
    <div
      class="jf-plot jf-scroll"
      ref={box}
      tabindex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={at < 0 ? all : text(at)}
      data-jf={hook}
      onKeyDown={keys}
      onBlur={leave}
    >
      <svg
        width={width}
        height={Math.max(height - 4, high * values.length + AXIS_ROOM)}
        aria-hidden="true"
        onPointerLeave={leave}
      >
        <BarAxis view={view} plan={plan} />
        {values.map((_, bar) => (
          <g key={bar} class={at === bar ? "is-on" : ""} onPointerEnter={() => setAt(bar)}>
            <title>{text(bar)}</title>
            <Bar view={view} plan={plan} at={bar} />
          </g>
        ))}
      </svg>
    </div>
  );
}

/** Where bars and names are, in pixels. */
function plannedBars(view: P.ChartView, width: number, height: number, shared?: Range) {
  const values = view.series[0].values.map((value) => value ?? 0);
  const brief = briefly(view);
  const names = view.x.labels.map((name) =>
    [brief(name), view.names[name]].filter(Boolean).join(" · "),
  );
  const longest = Math.max(...names.map(({ length }) => length));
  const left = clamp(longest * CHARACTER + 16, 48, Math.min(260, width * 0.35));
  const wide = Math.max(1, width - left - VALUE_ROOM);
  const [least, most] = shared ?? extent(view, []);
  const scale = view.log ? logAxis(least, most) : null;
  const [low, top] = scale ? [scale.low, scale.high] : [Math.min(0, least), Math.max(0, most)];
  const turned = (value: number) => (scale ? Math.log10(Math.max(value, low)) : value);
  const total = values.reduce((sum, value) => sum + value, 0);
  return {
    values,
    names,
    width,
    left,
    wide,
    low,
    top,
    base: scale ? low : 0,
    marks: scale?.ticks ?? ticks(low, top, Math.max(2, Math.round(wide / 110))),
    total,
    high: clamp(Math.floor((height - 32) / values.length), 20, 48),
    X: (value: number) =>
      left + ((turned(value) - turned(low)) / (turned(top) - turned(low) || 1)) * wide,
    hasShares: view.format !== "percent" && view.zero && !view.log && low >= 0 && total > 0,
  };
}

function BarAxis({ view, plan }: { view: P.ChartView; plan: Plan }) {
  const { values, high, marks, base, X } = plan;
  const bottom = high * values.length;
  const texts = view.log
    ? marks.map((mark) => shortText(mark, view.format))
    : axisTexts(marks, view.format);
  return (
    <>
      {marks.map((value, at) => (
        <>
          <line
            key={value}
            x1={sharp(X(value))}
            x2={sharp(X(value))}
            y1="0"
            y2={bottom}
            class={value === base ? "g-base" : "g-line"}
          />
          <text key={`t${value}`} x={X(value)} y={bottom + 17} text-anchor="middle">
            {texts[at]}
          </text>
        </>
      ))}
    </>
  );
}

function Bar({ view, plan, at }: { view: P.ChartView; plan: Plan; at: number }) {
  const { names, values, width, left, high, total, X } = plan;
  const value = values[at];
  const top = at * high;
  const middle = top + high / 2 + 4;
  const most = Math.floor((left - 14) / CHARACTER);
  return (
    <>
      <rect x="0" y={top} width={width} height={high} fill="transparent" />
      <text x={left - 10} y={middle} text-anchor="end" class="t-strong">
        {cut(names[at], most)}
      </text>
      <rect
        class="g-bar"
        x={X(Math.min(value, plan.base))}
        y={top + high * 0.2}
        width={Math.max(1, Math.abs(X(value) - X(plan.base)))}
        height={high * 0.6}
        rx="2"
      />
      <text x={X(Math.max(value, plan.base)) + 8} y={middle}>
        <tspan class="t-strong">{shortText(value, view.format)}</tspan>
        {plan.hasShares && <tspan dx="8">{((value / total) * 100).toFixed(1)}%</tspan>}
      </text>
    </>
  );
}

const cut = (name: string, most: number) =>
  name.length > most ? `${name.slice(0, Math.max(3, most - 1))}…` : name;

/** The bar that a key moves to. */
function nextBar(key: string, at: number, last: number) {
  const before = at < 0 ? last : at - 1;
  const next = {
    ArrowDown: at + 1,
    ArrowRight: at + 1,
    ArrowUp: before,
    ArrowLeft: before,
    Home: 0,
    End: last,
    PageDown: at + 10,
    PageUp: at - 10,
  }[key];
  return next === undefined ? undefined : clamp(next, 0, last);
}
