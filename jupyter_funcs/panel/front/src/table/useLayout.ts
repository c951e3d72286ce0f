import type { RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { clamp } from "../chart/scales";
import { usePanel } from "../core/panelcontext";
import type { Columns } from "./useColumns";
import type { Scroll } from "./useScroll";

export type Layout = ReturnType<typeof useLayout>;
type Widths = Record<number, number>;

/** Pixels of a column of which nothing is known yet. */
const UNKNOWN = 112;
/** Pixels beside what is in sight whose columns are drawn too. */
const BESIDE = 100;
/** Pixels by which a key or a button changes a width. */
const STEP = 24;

const allowed = (width: number) => clamp(width, 48, 800);

/**
 * Where each shown column begins, and where the last ends; narrow tables are stretched over the
 * whole width.
 */
function starts(shown: number[], widths: Widths, columns: Columns, room: number) {
  const wide = shown.map((at) => widths[at] ?? columns.get(at)?.width ?? UNKNOWN);
  const sum = wide.reduce((total, width) => total + width, 0);
  const free = shown.filter((at) => !(at in widths)).length;
  const more = free ? Math.max(0, (room - sum) / free) : 0;
  const lefts = [0];
  shown.forEach((at, place) => {
    const width = wide[place] + (at in widths ? 0 : more);
    lefts.push(lefts[place] + Math.floor(width));
  });
  return lefts;
}

/**
 * Which columns are in sight, and how wide they are. A place counts the columns that are not
 * hidden.
 */
export function useLayout(
  grid: RefObject<HTMLElement>,
  count: number,
  hidden: number[],
  columns: Columns,
  scroll: Scroll,
) {
  const { announce } = usePanel();
  const [widths, setWidths] = useState<Widths>({});
  const shown = useMemo(
    () => Array.from({ length: count }, (_, at) => at).filter((at) => !hidden.includes(at)),
    [count, hidden],
  );
  const lefts = useMemo(
    () => starts(shown, widths, columns, scroll.width),
    [shown, widths, scroll.width, columns.size],
  );
  const end = scroll.left + scroll.width + BESIDE;
  const first = Math.max(
    0,
    lefts.findIndex((_, at) => (lefts[at + 1] ?? Infinity) > scroll.left - BESIDE),
  );
  const beyond = lefts.findIndex((left) => left > end);
  const seen = shown.slice(first, beyond < 0 ? undefined : beyond);
  const seenWidths = seen.map((_, place) => lefts[first + place + 1] - lefts[first + place]);

  const setWidth = (at: number, width: number) =>
    setWidths((before) => ({ ...before, [at]: allowed(width) }));
  const widen = (at: number, by: number) => {
    const place = shown.indexOf(at);
    const width = allowed(lefts[place + 1] - lefts[place] + STEP * by);
    setWidth(at, width);
    announce(`${columns.nameOf(at)} is ${width} pixels wide`);
  };
  /** Scroll to the right or left, until a column is in sight. */
  const reveal = (place: number) => {
    if (!grid.current) return;
    const least = lefts[place + 1] - grid.current.clientWidth;
    grid.current.scrollLeft = Math.min(lefts[place], Math.max(least, grid.current.scrollLeft));
  };
  /** The style of a row, of which the columns in sight are drawn. */
  const across = {
    width: `${lefts[lefts.length - 1]}px`,
    paddingInlineStart: `${lefts[first]}px`,
    gridTemplateColumns: seenWidths.map((width) => `${width}px`).join(" "),
  };
  return { shown, seen, first, lefts, across, setWidth, widen, reveal };
}
