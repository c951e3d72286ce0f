import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { clamp } from "../chart/scales";
import { usePanel } from "../core/panelcontext";
import { useResize } from "../core/useResize";
import type { Pages } from "./pages";

export type Scroll = ReturnType<typeof useScroll>;

/** The height of a row, in pixels. */
export const ROW = 28;
/**
 * Browsers give up above some 16,000,000 pixels; beyond this height the scroll bar stands for
 * shares of the rows.
 */
const TALLEST = 8_000_000;
/** Rows drawn above and below those in sight. */
const AHEAD = 6;

interface Size {
  width: number;
  height: number;
  head: number;
  /** Of the sums. */
  foot: number;
}

/**
 * The wheel is the page's until the grid has been clicked; where a pixel stands for many rows, it
 * still moves by rows.
 */
function wheel(event: WheelEvent, ratio: number, move: (rows: number) => void) {
  const grid = event.currentTarget as HTMLElement;
  if (event.shiftKey || Math.abs(event.deltaY) <= Math.abs(event.deltaX)) return;
  const isOurs = grid.contains((grid.getRootNode() as Document).activeElement);
  if (isOurs && ratio === 1 / ROW) return;
  event.preventDefault();
  const rows = event.deltaY / (event.deltaMode ? 1 : ROW);
  if (isOurs) move(rows);
  else scrollAround(grid, rows * ROW);
}

/** Scroll what a grid is in, as the wheel would beside it. */
function scrollAround(grid: HTMLElement, top: number) {
  let around = parentOf(grid);
  while (around && !scrolls(around)) around = parentOf(around);
  (around ?? document.scrollingElement)?.scrollBy({ top, behavior: "instant" });
}

/** Also out of a shadow root. */
const parentOf = (element: Element) =>
  element.parentElement ?? (element.getRootNode() as ShadowRoot).host ?? null;

const scrolls = (element: Element) =>
  element.scrollHeight > element.clientHeight &&
  /auto|scroll/.test(getComputedStyle(element).overflowY);

/** The height of all rows, and how many rows a pixel of the scroll bar stands for. */
function scaled(total: number, room: number) {
  const tall = Math.min(total * ROW, TALLEST);
  const isMapped = total * ROW > TALLEST && tall > room;
  return { tall, ratio: isMapped ? (total - room / ROW) / (tall - room) : 1 / ROW };
}

/**
 * Where the grid is scrolled to: by its first row, which may be a part of one, and by pixels to the
 * right.
 */
export function useScroll(grid: RefObject<HTMLElement>, pages: Pages, redraw: () => void) {
  const { place, setPlace } = usePanel();
  const { total } = pages;
  // Not a state: keys and wheels may come faster than pictures.
  const row = useRef(place.top);
  const moved = useRef({ time: 0, pause: 0 });
  const [left, setLeft] = useState(place.left);
  const [size, setSize] = useState<Size>({ width: 900, height: 400, head: 82, foot: 28 });
  const top = row.current;
  const room = Math.max(ROW, size.height - size.head - size.foot);
  const { tall, ratio } = scaled(total, room);

  const put = (next: number) => {
    const time = Date.now();
    moved.current = { time, pause: time - moved.current.time };
    row.current = next;
    redraw();
  };
  const goto = (wanted: number) => {
    const next = clamp(wanted, 0, Math.max(0, total - room / ROW));
    put(next);
    if (grid.current) grid.current.scrollTop = next / ratio;
  };
  const onScroll = () => {
    if (!grid.current) return;
    const { scrollTop, scrollLeft } = grid.current;
    setLeft(scrollLeft);
    if (Math.abs(scrollTop - row.current / ratio) > 1) put(scrollTop * ratio);
  };
  useLayoutEffect(() => {
    if (!grid.current) return;
    Object.assign(grid.current, { scrollTop: top / ratio, scrollLeft: left });
    setLeft(grid.current.scrollLeft);
  }, [pages, size.height, size.width]);
  useLayoutEffect(() => setPlace(top, left), [top, left]);
  useResize(grid, ({ children, clientWidth: width, clientHeight: height }) => {
    const [head, , foot] = [...children].map((part) => (part as HTMLElement).offsetHeight);
    if (width) setSize({ width, height, head, foot: foot ?? 0 });
  });

  return {
    row,
    top,
    left,
    width: size.width,
    head: size.head,
    /** How many rows fit, with a part of one. */
    rows: room / ROW,
    tall,
    ratio,
    /** Milliseconds between its last two moves. */
    pause: moved.current.pause,
    start: Math.max(0, Math.floor(top) - AHEAD),
    end: Math.min(total, Math.ceil(top + room / ROW) + AHEAD),
    put,
    goto,
    onScroll,
    onWheel: (event: WheelEvent) => wheel(event, ratio, (by) => goto(row.current + by)),
  };
}
