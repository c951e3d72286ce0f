import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, plural, shortened } from "../core/format";
import { Button, Icon } from "../core/icons";
import { Menu } from "../core/popover";
import type * as P from "../core/protocol";
import { arrows, download, usePanel, useResize, useUniqueId } from "../core/state";
import {
  axis,
  axisTexts,
  clamp,
  nearest,
  pointText,
  shortText,
  ticks,
  timeTicks,
  valueText,
} from "./scales";
/** the first and the last day shown, or place */
export type Zoom = [number, number] | null;
export type Line = P.ChartView["series"][0];
/** `of`: the labels of the places that the zoom is in */
export type Chosen = { wish: P.ChartWish; zoom: Zoom; of: string; hidden: string[] };

const COLOURS = 8;
const RIGHT = 8,
  TOP = 8,
  FOOT = 24,
  STRIP = 34;
/** Colours of lines: 0 to 7; -1 is one of many, -2 what another line is compared with. */
export const ink = (at: number) => (at >= 0 ? `var(--s${(at % COLOURS) + 1})` : "var(--jf-quiet)");
const dash = (at: number) => (at === -2 ? "4 3" : at % COLOURS > 5 ? "5 3" : undefined);
const briefly = (view: P.ChartView) =>
  shortened(view.series.length > 1 ? view.series.map(({ name }) => name) : view.x.labels);
/** What was chosen stays while another tab is shown, by panel and function. */
const KEPT: WeakMap<object, Map<string, Chosen>> = new WeakMap();

export function Chart({ result }: { result: P.ResultView }) {
  const { ask, query, setQuery, live, copy, channel } = usePanel();
  if (!KEPT.has(channel)) KEPT.set(channel, new Map());
  const kept = KEPT.get(channel) as Map<string, Chosen>;
  const [chosen, setChosen] = useState(
    (): Chosen => kept.get(result.function) ?? { wish: {}, zoom: null, of: "", hidden: [] },
  );
  const [shown, setShown] = useState<{
    key: string;
    whole: P.ChartView;
    view: P.ChartView;
    zoom: Zoom;
  } | null>(null);
  const [trouble, setTrouble] = useState("");
  const [code, showCode] = useState(false);
  const [dim, setDim] = useState<string | null>(null);
  const box = useRef<HTMLDivElement | null>(null);
  const { wish, zoom, of, hidden } = chosen;
  const key = JSON.stringify([result.number, wish, query.filters, query.find, query.hidden]);

  const change = (more: Partial<Chosen>) => {
    const next = { ...chosen, ...more };
    kept.set(result.function, next);
    setChosen(next);
  };
  const wished = (more: P.ChartWish) =>
    change({ wish: { ...wish, ...more }, hidden: "colour" in more ? [] : hidden });

  useEffect(() => {
    if (live === "gone") return undefined;
    let current = true;
    const drawn = (range: Zoom) =>
      ask("chart", {
        run: result.number,
        wish,
        low: range?.[0] ?? null,
        high: range?.[1] ?? null,
        query: { ...query, sort: [] },
      });
    const whole = shown?.key === key ? Promise.resolve(shown.whole) : drawn(null);
    Promise.all([whole, zoom && !of ? drawn(zoom) : whole]).then(
      ([all, view]) => current && (setShown({ key, whole: all, view, zoom }), setTrouble("")),
      (error) => current && setTrouble(error.message),
    );
    return () => void (current = false);
  }, [key, zoom?.[0], zoom?.[1], live]);

  if (trouble && !shown)
    return (
      <div class="jf-blank" data-jf="chart-empty">
        <b>No chart</b>
        <span>{trouble}</span>
      </div>
    );
  if (!shown && live === "gone")
    return (
      <div class="jf-blank" data-jf="chart-empty">
        <span>The kernel stopped before this chart was drawn.</span>
      </div>
    );
  if (!shown)
    return (
      <div class="jf-blank" data-jf="chart-empty" aria-busy="true">
        <span>Drawing…</span>
      </div>
    );
  const { view, whole } = shown;
  const points = whole.x.values;
  const range =
    zoom &&
    of === String(whole.x.labels) &&
    zoom[0] < (points.at(-1) ?? -Infinity) &&
    zoom[1] > points[0]
      ? zoom
      : null; // another result may have other times
  const lines = view.series.filter((line) => line.colour !== -1);
  const others = view.series.length - lines.length;
  const filtered = query.filters.length > 0 || query.find !== "";
  const bars = view.kind === "bar";
  const legend = !bars && lines.length > 1;
  return (
    <>
      <div class="jf-sub">
        {view.choices.map((choice) => (
          <Choice
            key={choice.name}
            choice={choice}
            choose={(value: string) => wished({ [choice.name]: value })}
            off={live === "gone"}
          />
        ))}
        <span class="jf-gap" />
        {filtered && !view.why && (
          <span class="jf-quiet jf-num">
            {count(view.rows)} of {plural(result.table.rows, "row")}
          </span>
        )}
      </div>
      {view.why ? (
        <div class="jf-blank" data-jf="chart-empty">
          <b>Nothing to draw</b>
          <span>{view.why}</span>
          {filtered && (
            <Button
              kind="is-line"
              label="Remove all filters"
              data-jf="remove-filters"
              onClick={() => setQuery({ ...query, filters: [], find: "" })}
            />
          )}
        </div>
      ) : (
        <>
          <div class={`jf-plotwrap ${legend ? "" : "is-alone"}`} ref={box}>
            <div class="jf-plottop">
              <b class="jf-cut">{view.title}</b>
              <span class="jf-quiet" data-jf="unit">
                {view.unit}
              </span>
              <span class="jf-gap" />
              {range && !bars && (
                <Button
                  kind="is-line"
                  icon="zoom"
                  label="Reset zoom"
                  data-jf="zoom-reset"
                  onClick={() => (
                    change({ zoom: null }),
                    (
                      box.current?.querySelector(".jf-plot") as HTMLElement | null | undefined
                    )?.focus()
                  )}
                />
              )}
              <Button
                icon="code"
                aria="Code of this chart"
                data-jf="chart-code"
                aria-expanded={code}
                onClick={() => showCode(!code)}
              />
              <SavePicture box={box} view={view} lines={lines} />
            </div>
            {bars ? (
              <Bars view={view} />
            ) : (
              <Lines
                view={view}
                whole={whole}
                zoom={range}
                hidden={hidden}
                dim={hidden.includes(dim ?? "") ? null : dim}
                onZoom={(range: Zoom) => change({ zoom: range, of: String(whole.x.labels) })}
              />
            )}
            {legend && (
              <Legend
                view={view}
                end={range && view.x.type === "category" ? range[1] + 1 : undefined}
                lines={lines}
                hidden={hidden}
                setHidden={(names: string[]) => change({ hidden: names })}
                setDim={setDim}
              />
            )}
          </div>
          <div class="jf-note-line" data-jf="chart-note">
            {trouble && <span role="alert">{trouble}</span>}
            {view.notes.map((note) => (
              <span key={note}>{note}</span>
            ))}
            {(others > 0 || view.hidden > 0) && (
              <span>{`The ${lines.length} largest of ${count(view.series.length + view.hidden)} lines are ${others > 0 ? "coloured" : "drawn"}.`}</span>
            )}
            {others > 0 && !wish.all && (
              <button
                type="button"
                class="jf-inline"
                data-jf="show-all-lines"
                onClick={() => wished({ all: true })}
              >
                {view.hidden ? "Show all" : "Colour all"} {count(view.series.length + view.hidden)}
              </button>
            )}
            {!bars && !range && points.length > 2 && <span>Drag across the chart to zoom.</span>}
          </div>
          {code && (
            <div class="jf-codeline is-tall">
              <code tabindex={0} data-jf="chart-code-text">
                {view.code}
              </code>
              <Button
                icon="copy"
                label="Copy"
                data-jf="copy-chart-code"
                onClick={() => void copy(view.code)}
              />
            </div>
          )}
        </>
      )}
    </>
  );
}

function Choice({
  choice,
  choose,
  off,
}: {
  choice: P.ChartChoice;
  choose: (value: string) => void;
  off: boolean;
}) {
  const { name, label, value, options } = choice;
  if (name === "kind") {
    const keys = (event: KeyboardEvent) =>
      arrows(
        event,
        options.findIndex((each) => each.value === value),
        options.length,
        (at) => choose(options[at].value),
      );
    return (
      <div class="jf-seg is-s" role="radiogroup" aria-label={label} onKeyDown={keys}>
        {options.map((each) => (
          <button
            type="button"
            role="radio"
            class="jf-kind"
            key={each.value}
            aria-checked={each.value === value}
            tabindex={each.value === value ? 0 : -1}
            aria-label={each.label}
            title={each.label}
            disabled={off}
            data-jf={`chart-kind:${each.value}s`}
            onClick={() => choose(each.value)}
          >
            <Icon name={each.value === "line" ? "lines" : "bars"} size={14} />
          </button>
        ))}
      </div>
    );
  }
  return (
    <label class="jf-pick">
      <span>{label}</span>
      <select
        data-jf={`chart-${name}`}
        disabled={off}
        value={value}
        onChange={(event: any) => choose(event.currentTarget.value)}
      >
        {options.map((each) => (
          <option
            key={each.value}
            value={each.value}
            selected={each.value === value}
            disabled={each.disabled}
          >
            {each.label}
          </option>
        ))}
      </select>
      <Icon name="chev" size={14} />
    </label>
  );
}

/** The size of an element, from its first layout on. */
function useSize(ref: { current: HTMLElement | null }): [number, number] {
  const [size, setSize] = useState<[number, number]>([0, 0]);
  useResize(ref, ({ clientWidth: wide, clientHeight: high }) =>
    setSize(([w, h]) =>
      w === (wide || 640) && h === (high || 300) ? [w, h] : [wide || 640, high || 300],
    ),
  );
  return size;
}

/** The path of a line; it goes on over points without a value. */
function path(
  xs: number[],
  values: Line["values"],
  X: (x: number) => number,
  Y: (y: number) => number,
) {
  let out = "";
  for (let at = 0; at < xs.length; at++) {
    const value = values[at];
    if (value !== null) out += `${out ? "L" : "M"}${X(xs[at]).toFixed(1)} ${Y(value).toFixed(1)}`;
  }
  return out.includes("L") ? out : `${out}h0`;
}

/** Lines over time or named periods, with a cursor and a zoom. */
export function Lines({
  view,
  whole = view,
  zoom = null,
  hidden = [],
  dim = null,
  onZoom,
  hook = "plot",
}: {
  view: P.ChartView;
  whole?: P.ChartView;
  zoom?: Zoom;
  hidden?: string[];
  dim?: string | null;
  onZoom?: (zoom: Zoom) => void;
  hook?: string;
}) {
  const { announce } = usePanel();
  const box = useRef<HTMLDivElement | null>(null);
  const tip = useRef<HTMLDivElement | null>(null);
  const drag = useRef<{ kind: string; x: number; range: [number, number] } | null>(null);
  const [width, height] = useSize(box);
  const [at, setAt] = useState(-1);
  const [brush, setBrush] = useState<[number, number] | null>(null);
  const [moved, setMoved] = useState<Zoom>(null);
  const clip = useUniqueId();
  const isTime = view.x.type === "time";
  const canZoom = Boolean(onZoom) && whole.x.values.length > 2;
  const strip = canZoom && height > 220 ? STRIP : 0;
  const tall = Math.max(1, height - TOP - FOOT - (strip && strip + 8));
  const full = [whole.x.values[0] ?? 0, whole.x.values.at(-1) ?? 1] as [number, number];

  const plan = useMemo(() => {
    const lines = view.series.filter((line) => !hidden.includes(line.name));
    const range =
      canZoom && zoom ? zoom : ([view.x.values[0], view.x.values.at(-1)] as [number, number]);
    if (range[0] === range[1]) [range[0], range[1]] = [range[0] - 0.5, range[1] + 0.5];
    const xs = view.x.values;
    const within = xs
      .map((_, each) => each)
      .filter((each) => xs[each] >= range[0] && xs[each] <= range[1]);
    const known = lines.flatMap((line) => within.flatMap((each) => line.values[each] ?? []));
    const y = axis(
      Math.min(...known),
      Math.max(...known),
      clamp(Math.round(tall / 52), 3, 7),
      view.zero,
    );
    const texts = axisTexts(y.ticks, view.format);
    const left = Math.max(48, Math.max(...texts.map((text) => text.length)) * 6.5 + 14);
    const wide = Math.max(1, width - left - RIGHT);
    const X = (value: number) => left + ((value - range[0]) / (range[1] - range[0])) * wide;
    const Y = (value: number) => TOP + tall - ((value - y.low) / (y.high - y.low)) * tall;
    const inside = within.filter((each) => lines.some((line) => line.values[each] !== null));
    const paths = lines.map((line) => ({ line, d: path(xs, line.values, X, Y) }));
    const marks = isTime
      ? timeTicks(range[0], range[1], Math.max(2, Math.floor(wide / 72)), view.step)
      : every(view.x.labels, wide, range);
    return { lines, range, y, texts, left, wide, X, Y, inside, paths, marks };
  }, [view, zoom?.[0], zoom?.[1], hidden, width, height]);
  const { lines, range, y, left, wide, X, Y, inside } = plan;
  const named = lines.filter((line) => line.colour !== -1);
  const signed = view.format === "percent" && y.low < 0;

  const drawing = useMemo(
    () => (
      <>
        <clipPath id={clip}>
          <rect x={left} y={TOP - 4} width={wide} height={tall + 8} />
        </clipPath>
        {y.ticks.map((value, each) => (
          <>
            <line
              key={`y${value}`}
              x1={left}
              x2={left + wide}
              y1={Math.round(Y(value)) + 0.5}
              y2={Math.round(Y(value)) + 0.5}
              class={value === (view.format === "index" ? 100 : 0) ? "g-base" : "g-line"}
            />
            <text key={`t${value}`} x={left - 8} y={Y(value) + 4} text-anchor="end">
              {plan.texts[each]}
            </text>
          </>
        ))}
        {plan.marks.map(
          ([value, label]) =>
            X(value) < left + wide - (isTime ? -1 : 12) && (
              <>
                <line
                  key={`x${value}`}
                  x1={Math.round(X(value)) + 0.5}
                  x2={Math.round(X(value)) + 0.5}
                  y1={TOP + tall}
                  y2={TOP + tall + 4}
                  class="g-base"
                />
                <text
                  key={`l${value}`}
                  x={X(value)}
                  y={TOP + tall + 17}
                  text-anchor={
                    isTime && X(value) < left + 12
                      ? "start"
                      : X(value) > left + wide - 12
                        ? "end"
                        : "middle"
                  }
                >
                  {label}
                </text>
              </>
            ),
        )}
        <g clip-path={`url(#${clip})`}>
          {[...plan.paths].reverse().map(({ line, d }) => (
            <path
              key={line.name}
              d={d}
              class={
                line.colour === -1
                  ? "g-rest"
                  : `g-path ${dim !== null && dim !== line.name ? "is-dim" : ""}`
              }
              stroke={line.colour === -1 ? undefined : ink(line.colour)}
              stroke-dasharray={dash(line.colour)}
            />
          ))}
        </g>
      </>
    ),
    [plan, dim],
  );

  const brief = briefly(view);
  const when = (each: number) =>
    isTime ? pointText(view.x.values[each], view.step) : view.x.labels[each];
  const values =
    at < 0
      ? []
      : named
          .flatMap((line) =>
            line.values[at] === null ? [] : [{ line, value: line.values[at] as number }],
          )
          .sort((a, b) => b.value - a.value);
  const label =
    at < 0
      ? `${[view.title, view.unit].filter(Boolean).join(", ")}, ${plural(named.length, "line")}, ${inside.length ? `${when(inside[0])} to ${when(inside.at(-1) as number)}` : "no values"}. Left and right arrows read values.`
      : `${when(at)}: ${values.map(({ line, value }) => `${brief(line.name)} ${valueText(value, view.format, signed)}`).join(", ")}`;
  useEffect(() => setAt(-1), [view]);
  useLayoutEffect(() => {
    const note = tip.current;
    if (!note || at < 0) return;
    const x = X(view.x.values[at]);
    note.style.left = `${clamp(x + 14 + note.offsetWidth > width ? x - note.offsetWidth - 14 : x + 14, 0, Math.max(0, width - note.offsetWidth))}px`;
    note.style.top = `${clamp(TOP + 4, 0, Math.max(0, height - note.offsetHeight))}px`;
  });

  const shift = (to: [number, number]) => {
    const low = isTime ? to[0] : Math.min(Math.round(to[0]), full[1] - 1);
    const high = isTime ? to[1] : Math.max(Math.round(to[1]), low + 1);
    onZoom?.(high - low < (full[1] - full[0]) * 0.985 ? [low, high] : null);
  };
  const stripX = (value: number) => left + ((value - full[0]) / (full[1] - full[0])) * wide;
  const dayAt = (x: number, of: [number, number]) => of[0] + ((x - left) / wide) * (of[1] - of[0]);
  const least = (full[1] - full[0]) / 200;
  const where = (event: PointerEvent) => {
    const rect = (box.current as HTMLElement).getBoundingClientRect();
    return [event.clientX - rect.left, event.clientY - rect.top];
  };
  const down = (event: PointerEvent) => {
    const [x, top] = where(event);
    if (!canZoom || event.button || x < left - 6) return;
    const [from, to] = range.map(stripX);
    const kind =
      !strip || top < TOP + tall + FOOT
        ? "zoom"
        : Math.abs(x - to) < 10
          ? "right"
          : Math.abs(x - from) < 10
            ? "left"
            : zoom && x > from && x < to
              ? "move"
              : "new";
    drag.current = { kind, x, range: [range[0], range[1]] };
    setAt(-1);
    try {
      (event.currentTarget as Element).setPointerCapture(event.pointerId);
    } catch {
      // The pointer is gone already.
    }
  };
  const move = (event: PointerEvent) => {
    const [atX, top] = where(event);
    const x = clamp(atX, left, left + wide);
    const held = drag.current;
    if (!held) {
      setAt(
        top < TOP + tall + 6 && atX >= left - 4 && inside.length
          ? inside[
              nearest(
                inside.map((each) => X(view.x.values[each])),
                x,
              )
            ]
          : -1,
      );
      return;
    }
    if (held.kind === "zoom") return setBrush([Math.min(x, held.x), Math.max(x, held.x)]);
    const [day, from] = [dayAt(x, full), dayAt(held.x, full)];
    const by = clamp(day - from, full[0] - held.range[0], full[1] - held.range[1]);
    const [low, high] = (
      {
        right: [held.range[0], Math.max(held.range[0] + least, day)],
        left: [Math.min(held.range[1] - least, day), held.range[1]],
        move: [held.range[0] + by, held.range[1] + by],
        new: [Math.min(day, from), Math.max(day, from, Math.min(day, from) + least)],
      } as Record<string, [number, number]>
    )[held.kind];
    setMoved([clamp(low, ...full), clamp(high, ...full)]);
  };
  const up = () => {
    const held = drag.current;
    drag.current = null;
    if (held?.kind === "zoom" && brush && brush[1] - brush[0] > 6)
      shift([dayAt(brush[0], range), dayAt(brush[1], range)]);
    else if (moved) shift(moved);
    setBrush(null);
    setMoved(null);
  };
  const keys = (event: KeyboardEvent) => {
    const here = inside.indexOf(at);
    const last = inside.length - 1;
    const go = {
      ArrowRight: here + 1,
      ArrowLeft: here < 0 ? last : here - 1,
      Home: 0,
      End: last,
      PageDown: here + 10,
      PageUp: here - 10,
    }[event.key];
    if (go !== undefined && inside.length && !event.ctrlKey && !event.metaKey)
      setAt(inside[clamp(go, 0, last)]);
    else if (event.key === "Escape" && at >= 0) event.stopPropagation(), setAt(-1);
    else if (canZoom && (event.key === "+" || event.key === "=")) {
      const middle = at < 0 ? (range[0] + range[1]) / 2 : view.x.values[at];
      const half = Math.max((range[1] - range[0]) / 4, least);
      shift([clamp(middle - half, ...full), clamp(middle + half, ...full)]);
    } else if (canZoom && (event.key === "-" || event.key === "0")) onZoom?.(null);
    else return;
    event.preventDefault();
  };
  const byKey = useRef(false);
  useEffect(() => {
    if (at >= 0 && byKey.current) announce(label);
    byKey.current = false;
  }, [at]);

  const shade = moved ?? range;
  const room = clamp(Math.floor((height - 110) / 18), 4, 12);
  const x = at < 0 ? 0 : X(view.x.values[at]);
  return (
    <div
      class="jf-plot"
      ref={box}
      tabindex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={label}
      data-jf={hook}
      onKeyDown={(event: KeyboardEvent) => ((byKey.current = true), keys(event))}
      onBlur={() => setAt(-1)}
    >
      <svg
        width={width}
        height={height}
        aria-hidden="true"
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
        onPointerLeave={() => drag.current || setAt(-1)}
        onDblClick={() => onZoom?.(null)}
      >
        {width > 0 && drawing}
        {at >= 0 && (
          <>
            <line x1={x} x2={x} y1={TOP} y2={TOP + tall} class="g-cross" />
            {values.map(({ line, value }) => (
              <circle
                key={line.name}
                cx={x}
                cy={Y(value)}
                r="3.5"
                fill={ink(line.colour)}
                stroke="var(--jf-bg)"
                stroke-width="1.5"
              />
            ))}
          </>
        )}
        {brush && (
          <rect class="g-brush" x={brush[0]} width={brush[1] - brush[0]} y={TOP} height={tall} />
        )}
        {strip > 0 && (
          <>
            <Strip whole={whole} hidden={hidden} X={stripX} top={height - strip} />
            <rect
              class="g-win"
              x={stripX(shade[0])}
              width={Math.max(2, stripX(shade[1]) - stripX(shade[0]))}
              y={height - strip + 0.5}
              height={strip - 1}
              rx="3"
            />
            {shade.map((each, end) => (
              <rect
                key={end}
                class="g-grip"
                x={stripX(each) - 3}
                y={height - strip / 2 - 8}
                width="6"
                height="16"
                rx="3"
              />
            ))}
          </>
        )}
      </svg>
      {at >= 0 && (
        <div class="jf-tip" ref={tip} data-jf="tooltip">
          <b>{when(at)}</b>
          {view.unit !== "%" && <span class="jf-quiet">{view.unit}</span>}
          {values.slice(0, room).map(({ line, value }) => (
            <p key={line.name}>
              <Swatch colour={line.colour} width={12} />
              <span class="jf-cut">{brief(line.name)}</span>
              <span>{valueText(value, view.format, signed)}</span>
            </p>
          ))}
          {values.length > room && <p class="jf-quiet">and {values.length - room} more</p>}
          {view.adds && values.length > 1 && (
            <p class="is-sum">
              <span>Sum</span>
              <span>
                {valueText(
                  values.reduce((sum, { value }) => sum + value, 0),
                  view.format,
                )}
              </span>
            </p>
          )}
        </div>
      )}
      <Spoken view={view} lines={named} when={when} />
    </div>
  );
}

/** As many labels of categories as have room, with their places. */
function every(labels: string[], wide: number, [low, high]: [number, number]): [number, string][] {
  const longest = Math.min(16, Math.max(4, ...labels.map((label) => label.length)));
  const step = Math.max(1, Math.ceil(((high - low + 1) * (longest * 6.5 + 16)) / wide));
  return labels.flatMap((label, at) =>
    at < low || at > high || (at - Math.ceil(low)) % step
      ? []
      : [[at, label.length > 16 ? `${label.slice(0, 15)}…` : label] as [number, string]],
  );
}

/** All of the time below a chart, to choose a part of it. */
function Strip({
  whole,
  hidden,
  X,
  top,
}: {
  whole: P.ChartView;
  hidden: string[];
  X: (day: number) => number;
  top: number;
}) {
  const xs = whole.x.values;
  const lines = whole.series.filter((line) => line.colour !== -1 && !hidden.includes(line.name));
  const sums = xs.map((_, at) =>
    (lines.length ? lines : whole.series).reduce((sum, line) => sum + (line.values[at] ?? 0), 0),
  );
  const [low, high] = [Math.min(...sums), Math.max(...sums)];
  const Y = (value: number) =>
    top +
    STRIP -
    2 -
    ((value - low + (high - low) * 0.15) / ((high - low) * 1.15 || 1)) * (STRIP - 4);
  return (
    <path
      class="g-mini"
      d={`M${X(xs[0])} ${top + STRIP}${path(xs, sums, X, Y).replace("M", "L")}L${X(xs.at(-1) as number)} ${top + STRIP}Z`}
    />
  );
}

const Swatch = ({ colour, width = 16 }: { colour: number; width?: number }) => (
  <svg width={width} height="8" viewBox={`0 0 ${width} 8`} aria-hidden="true">
    <path
      d={`M0 4h${width}`}
      stroke={ink(colour)}
      stroke-width="2.5"
      stroke-dasharray={dash(colour)}
    />
  </svg>
);

/** The values as a table, which is heard and not seen; it waits, so that drawing doesn't. */
function Spoken({
  view,
  lines,
  when,
}: {
  view: P.ChartView;
  lines: Line[];
  when: (at: number) => string;
}) {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), 400);
    return () => clearTimeout(timer);
  }, []);
  if (!ready) return null;
  const step = Math.ceil(view.x.values.length / 60);
  const rows = view.x.values.map((_, at) => at).filter((at) => at % step === 0);
  // A table takes its width whatever its style says.
  return (
    <div class="jf-off">
      <table data-jf="chart-table">
        <caption>
          {[view.title, view.unit].filter(Boolean).join(", ")}
          {step > 1 ? `, one point of ${step}` : ""}
        </caption>
        <thead>
          <tr>
            <th scope="col">Point</th>
            {lines.map((line) => (
              <th scope="col" key={line.name}>
                {line.name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((at) => (
            <tr key={at}>
              <th scope="row">{when(at)}</th>
              {lines.map((line) => (
                <td key={line.name}>{valueText(line.values[at], view.format)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Legend({
  view,
  end,
  lines,
  hidden,
  setHidden,
  setDim,
}: {
  view: P.ChartView;
  end?: number;
  lines: Line[];
  hidden: string[];
  setHidden: (names: string[]) => void;
  setDim: (name: string | null) => void;
}) {
  const by = view.choices.find((choice) => choice.name === "colour")?.value;
  const signed = lines.some((line) => line.values.some((each) => Number(each) < 0));
  const brief = briefly(view);
  const last = (line: Line) => {
    const value = line.values.slice(0, end).findLast((each) => each !== null);
    return view.format === "percent"
      ? valueText(value, "percent", signed)
      : shortText(value, view.format);
  };
  return (
    <div class="jf-legend" role="group" aria-label="Lines" data-jf="legend">
      <h3>
        <span>{by || "Line"}</span>
        <span>last</span>
      </h3>
      {lines.map((line) => {
        const off = hidden.includes(line.name);
        return (
          <button
            type="button"
            key={line.name}
            data-jf={`legend:${line.name}`}
            aria-pressed={!off}
            title={off ? "Show" : "Hide. Double-click: show this line alone"}
            onClick={() =>
              setHidden(off ? hidden.filter((name) => name !== line.name) : [...hidden, line.name])
            }
            onDblClick={() =>
              setHidden(lines.filter((each) => each !== line).map((each) => each.name))
            }
            onMouseEnter={() => setDim(line.name)}
            onMouseLeave={() => setDim(null)}
          >
            <Swatch colour={line.colour} />
            <span class="jf-cut">{brief(line.name)}</span>
            <span class="jf-num">{last(line)}</span>
          </button>
        );
      })}
      {hidden.length > 0 && (
        <button type="button" class="jf-inline" data-jf="legend-all" onClick={() => setHidden([])}>
          Show all
        </button>
      )}
    </div>
  );
}

/** One bar for each category. */
function Bars({ view }: { view: P.ChartView }) {
  const box = useRef<HTMLDivElement | null>(null);
  const [width, height] = useSize(box);
  const [at, setAt] = useState(-1);
  const values = view.series[0].values.map((value) => value ?? 0);
  const names = view.x.labels.map(briefly(view));
  const high = clamp(Math.floor((height - 32) / values.length), 20, 48);
  const left = clamp(
    Math.max(...names.map(({ length }) => length)) * 7.4 + 16,
    48,
    Math.min(260, width * 0.35),
  );
  const wide = Math.max(1, width - left - 116);
  const [low, top] = [Math.min(0, ...values), Math.max(0, ...values)];
  const X = (value: number) => left + ((value - low) / (top - low || 1)) * wide;
  const total = values.reduce((sum, value) => sum + value, 0);
  const parts = view.format !== "percent" && view.zero && low >= 0 && total > 0;
  const text = (each: number) => `${names[each]} ${valueText(values[each], view.format)}`;
  const keys = (event: KeyboardEvent) => {
    const last = values.length - 1;
    const go = {
      ArrowDown: at + 1,
      ArrowRight: at + 1,
      ArrowUp: at < 0 ? last : at - 1,
      ArrowLeft: at < 0 ? last : at - 1,
      Home: 0,
      End: last,
      PageDown: at + 10,
      PageUp: at - 10,
    }[event.key];
    if (go === undefined) return;
    event.preventDefault();
    setAt(clamp(go, 0, last));
  };
  const marks = ticks(low, top, Math.max(2, Math.round(wide / 110)));
  const texts = axisTexts(marks, view.format);
  const room = Math.floor((left - 14) / 7.4);
  const cut = (name: string) =>
    name.length > room ? `${name.slice(0, Math.max(3, room - 1))}…` : name;
  return (
    <div
      class="jf-plot jf-scroll"
      ref={box}
      tabindex={0}
      role="group"
      aria-roledescription="chart"
      aria-label={
        at < 0 ? `${view.title}. ${values.map((_, each) => text(each)).join(", ")}` : text(at)
      }
      data-jf="plot"
      onKeyDown={keys}
      onBlur={() => setAt(-1)}
    >
      <svg
        width={width}
        height={Math.max(height - 4, high * values.length + 28)}
        aria-hidden="true"
        onPointerLeave={() => setAt(-1)}
      >
        {marks.map((value, each) => (
          <>
            <line
              key={value}
              x1={Math.round(X(value)) + 0.5}
              x2={Math.round(X(value)) + 0.5}
              y1="0"
              y2={high * values.length}
              class={value === 0 ? "g-base" : "g-line"}
            />
            <text key={`t${value}`} x={X(value)} y={high * values.length + 17} text-anchor="middle">
              {texts[each]}
            </text>
          </>
        ))}
        {values.map((value, each) => (
          <g key={each} class={at === each ? "is-on" : ""} onPointerEnter={() => setAt(each)}>
            <title>{text(each)}</title>
            <rect x="0" y={each * high} width={width} height={high} fill="transparent" />
            <text x={left - 10} y={each * high + high / 2 + 4} text-anchor="end" class="t-strong">
              {cut(names[each])}
            </text>
            <rect
              class="g-bar"
              x={X(Math.min(value, 0))}
              y={each * high + high * 0.2}
              width={Math.max(1, X(Math.abs(value)) - X(0))}
              height={high * 0.6}
              rx="2"
            />
            <text x={X(Math.max(value, 0)) + 8} y={each * high + high / 2 + 4}>
              <tspan class="t-strong">{shortText(value, view.format)}</tspan>
              {parts && <tspan dx="8">{((value / total) * 100).toFixed(1)}%</tspan>}
            </text>
          </g>
        ))}
      </svg>
    </div>
  );
}

function SavePicture({
  box,
  view,
  lines,
}: {
  box: { current: HTMLElement | null };
  view: P.ChartView;
  lines: Line[];
}) {
  const { toast } = usePanel();
  const [anchor, open] = useState<HTMLElement | null>(null);
  const save = (type: "svg" | "png") => {
    const drawn = box.current?.querySelector(".jf-plot > svg");
    if (drawn)
      void picture(drawn as SVGSVGElement, view, view.kind === "bar" ? [] : lines, type).catch(() =>
        toast("The browser did not allow saving the picture."),
      );
  };
  return (
    <>
      <Button
        icon="save"
        aria="Save the picture"
        data-jf="chart-save"
        aria-haspopup="menu"
        aria-expanded="false"
        onClick={(event: any) => open(anchor ? null : event.currentTarget)}
      />
      {anchor && (
        <Menu
          anchor={anchor}
          close={() => open(null)}
          label="Save the picture"
          right
          width={160}
          items={[
            { label: "PNG", jf: "chart-save:png", click: () => save("png") },
            { label: "SVG", jf: "chart-save:svg", click: () => save("svg") },
          ]}
        />
      )}
    </>
  );
}

const STYLES = [
  "fill",
  "stroke",
  "stroke-width",
  "stroke-dasharray",
  "stroke-linejoin",
  "opacity",
  "font-size",
  "font-family",
  "visibility",
];
const SVG = "http://www.w3.org/2000/svg";

/** Download what is drawn, with its title and legend, in the colours of the page. */
async function picture(
  drawn: SVGSVGElement,
  view: P.ChartView,
  lines: Line[],
  type: "svg" | "png",
) {
  const [width, tall] = [drawn.clientWidth, drawn.clientHeight];
  const columns = Math.max(1, Math.floor(width / 160));
  const height = tall + 28 + Math.ceil(lines.length / columns) * 18 + 8;
  const make = (name: string, attributes: Record<string, string | number>, text = "") => {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    element.textContent = text;
    return element;
  };
  const copy = drawn.cloneNode(true) as SVGSVGElement;
  const style = getComputedStyle(drawn);
  const resolve = (colour: string) =>
    style.getPropertyValue(colour.slice(4, -1)).trim() || style.color;
  for (const each of copy.querySelectorAll(".g-mini, .g-win, .g-grip, .g-brush, .g-cross, title"))
    each.remove();
  const from = [...drawn.querySelectorAll("path, line, text, tspan, rect, circle")].filter(
    (each) => !each.matches(".g-mini, .g-win, .g-grip, .g-brush, .g-cross"),
  );
  [...copy.querySelectorAll("path, line, text, tspan, rect, circle")].forEach((each, at) => {
    const computed = getComputedStyle(from[at]);
    each.setAttribute(
      "style",
      STYLES.map((name) => `${name}:${computed.getPropertyValue(name)}`).join(";"),
    );
  });
  const font = { "font-family": style.fontFamily, fill: style.color };
  const root = make("svg", { xmlns: SVG, width, height, viewBox: `0 0 ${width} ${height}` });
  const inner = make("g", { transform: "translate(0 28)" });
  inner.append(...copy.childNodes);
  root.append(
    make("rect", { width, height, fill: resolve("var(--jf-bg)") }),
    make(
      "text",
      { x: 8, y: 18, "font-size": 13, "font-weight": 600, ...font },
      `${view.title}${view.unit ? ` (${view.unit})` : ""}`,
    ),
    inner,
  );
  lines.forEach((line, at) => {
    const [x, y] = [8 + (at % columns) * 160, tall + 28 + Math.floor(at / columns) * 18 + 12];
    root.append(
      make("path", {
        d: `M${x} ${y - 4}h16`,
        stroke: resolve(ink(line.colour)),
        "stroke-width": 2.5,
      }),
      make(
        "text",
        { x: x + 22, y, "font-size": 12, ...font },
        briefly(view)(line.name).slice(0, 22),
      ),
    );
  });
  // Programs that draw don't know the colours that are mixed.
  const text = new XMLSerializer().serializeToString(root).replace(
    /color\(srgb ([\d.]+) ([\d.]+) ([\d.]+)[^)]*\)/g,
    (_, ...parts) =>
      `rgb(${parts
        .slice(0, 3)
        .map((part) => Math.round(part * 255))
        .join(", ")})`,
  );
  const name = `${view.title.replace(/[^\p{L}\p{N}]+/gu, "_") || "chart"}.${type}`;
  if (type === "svg")
    return download(name, URL.createObjectURL(new Blob([text], { type: "image/svg+xml" })));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), {
    width: width * 2,
    height: height * 2,
  });
  canvas.getContext("2d")?.drawImage(image, 0, 0, width * 2, height * 2);
  download(name, canvas.toDataURL("image/png"));
}
