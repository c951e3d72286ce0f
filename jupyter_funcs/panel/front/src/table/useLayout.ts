import type { RefObject } from "preact";
import { useMemo } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { isDate, isNumber } from "./columns";
import { useArrangement, type Widths } from "./useArrangement";
import type { Columns } from "./useColumns";
import type { Scroll } from "./useScroll";

export type Layout = ReturnType<typeof useLayout>;

/** Pixels of a column of which nothing is known yet. */
const UNKNOWN = 112;
/** Pixels beside what is in sight whose columns are drawn too. */
const BESIDE = 100;
/** Pixels by which a key or a button changes a width. */
const STEP = 24;
/** Pixels of a label and of a date that are made narrow, so that measures are in sight. */
const NARROW = 88;
const NARROW_DATE = 118;
/** Pixels of the word below the numbers of rows. */
const SUM = 42;
/** Shares of the width: of all labels, of those pinned at first, and of those that can be. */
const LABELS = 0.5;
const PINNED = 0.3;
const MOST_PINNED = 0.6;

/** The most that a width may be so that all fit: the widest give way first. */
function mostOf(widths: number[], room: number) {
  let rest = room;
  for (const [place, width] of [...widths].sort((one, other) => one - other).entries()) {
    const most = rest / (widths.length - place);
    if (width > most) return most;
    rest -= width;
  }
  return room;
}

/**
 * The width of each shown column: narrow tables are stretched over the whole width, and in wide
 * ones labels are narrow.
 */
function widthsOf(shown: number[], widths: Widths, columns: Columns, room: number) {
  const own = shown.map((at) => widths[at] ?? columns.get(at)?.width ?? UNKNOWN);
  const sum = own.reduce((total, width) => total + width, 0);
  const free = shown.filter((at) => !(at in widths)).length;
  const more = free ? Math.max(0, (room - sum) / free) : 0;
  const labels = shown.findIndex((at) => isNumber(columns.get(at)));
  const most = sum > room ? mostOf(own.slice(0, Math.max(0, labels)), room * LABELS) : sum;
  return shown.map((at, place) => {
    const column = columns.get(at);
    if (at in widths) return own[place];
    // What is cut of a time can't be guessed.
    if (place >= labels || !column || column.type === "datetime")
      return Math.floor(own[place] + more);
    const narrow = Math.max(most, isDate(column) ? NARROW_DATE : NARROW);
    return Math.floor(Math.min(narrow, own[place]) + more);
  });
}

/** How many of the first columns are pinned. */
function pinsOf(
  shown: number[],
  lefts: number[],
  pinned: number[] | null,
  columns: Columns,
  room: number,
) {
  const isWide = lefts[shown.length] > lefts[0] + room;
  const isPinned = (at: number) =>
    pinned ? pinned.includes(at) : isWide && !isNumber(columns.get(at));
  const most = lefts[0] + room * (pinned ? MOST_PINNED : PINNED);
  const end = shown.findIndex((at, place) => !isPinned(at) || lefts[place + 1] > most);
  return Math.max(0, end);
}

/** The columns to draw, those that are pinned at the left edge, and the style of a row of them. */
function drawnOf(shown: number[], lefts: number[], pins: number, scroll: Scroll) {
  const start = scroll.left + lefts[pins] - BESIDE;
  const end = scroll.left + scroll.width + BESIDE;
  const isSeen = (place: number) =>
    place < pins || (lefts[place + 1] > start && lefts[place] <= end);
  const cells = [...shown.keys()].filter(isSeen).map((place, index) => {
    const isPinned = place < pins;
    // Between those that are pinned and the others is what they have been scrolled by.
    const column = { gridColumn: index + (isPinned ? 2 : 3) };
    return {
      at: shown[place],
      place,
      width: lefts[place + 1] - lefts[place],
      style: isPinned ? { ...column, left: `${lefts[place]}px` } : column,
      pin: isPinned ? "is-pin" : "",
    };
  });
  const widths = cells.map(({ width }) => width);
  const gap = (lefts[cells[pins]?.place] ?? lefts[pins]) - lefts[pins];
  const tracks = [lefts[0], ...widths.slice(0, pins), gap, ...widths.slice(pins)];
  const across = {
    width: `${lefts[lefts.length - 1]}px`,
    gridTemplateColumns: tracks.map((width) => `${width}px`).join(" "),
  };
  return { cells, across, seen: cells.map(({ at }) => at) };
}

/**
 * Which columns are in sight, in which order, and how wide they are. A place counts the columns
 * that are not hidden. The numbers of the rows are before them.
 */
export function useLayout(
  grid: RefObject<HTMLElement>,
  table: P.TableView,
  hidden: number[],
  columns: Columns,
  scroll: Scroll,
) {
  const { announce } = usePanel();
  const { shown, widths, pinned, setWidth, move, pin } = useArrangement(table, hidden, columns);
  const numbers = Math.max(SUM, 16 + 7 * String(table.rows).length);
  const room = scroll.width - numbers;
  const lefts = useMemo(() => {
    const edges = [numbers];
    for (const width of widthsOf(shown, widths, columns, room))
      edges.push(edges[edges.length - 1] + width);
    return edges;
  }, [shown, widths, room, columns.size]);
  const pins = pinsOf(shown, lefts, pinned, columns, room);

  const widen = (at: number, by: number) => {
    const place = shown.indexOf(at);
    const width = setWidth(at, lefts[place + 1] - lefts[place] + STEP * by);
    announce(`${columns.nameOf(at)} is ${width} pixels wide`);
  };
  /** Scroll to the right or left, until a column is in sight. */
  const reveal = (place: number) => {
    if (!grid.current || place < pins) return;
    const least = lefts[place + 1] - grid.current.clientWidth;
    const most = lefts[place] - lefts[pins];
    grid.current.scrollLeft = Math.min(most, Math.max(least, grid.current.scrollLeft));
  };
  /** The place of the column at some pixels from the left edge. */
  const placeAt = (x: number) => {
    const left = x < lefts[pins] ? x : x + (grid.current?.scrollLeft ?? 0);
    const next = lefts.findIndex((edge) => edge > left);
    return next < 0 ? shown.length - 1 : Math.max(0, next - 1);
  };
  return {
    ...drawnOf(shown, lefts, pins, scroll),
    shown,
    lefts,
    setWidth,
    widen,
    move: (at: number, by: number) => move(at, shown.indexOf(at) + by),
    moveTo: move,
    isPinned: (at: number) => shown.indexOf(at) < pins,
    pin: (at: number) => pin(at, pinned ?? shown.slice(0, pins)),
    reveal,
    placeAt,
  };
}
