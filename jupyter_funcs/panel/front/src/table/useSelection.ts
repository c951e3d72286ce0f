import { useRef } from "preact/hooks";
import { clamp } from "../chart/scales";
import { type Part, useDragged } from "./useDragged";
import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";

export type Selection = ReturnType<typeof useSelection>;

/** A row of the view, and the place of a column among the shown ones. */
export interface Cell {
  row: number;
  place: number;
}

/** Cells between two corners: `to` is the row after the last. */
export interface Area {
  from: number;
  to: number;
  left: number;
  right: number;
}

interface Selected {
  cell: Cell | null;
  /** The other corner, of several cells. */
  anchor: Cell | null;
}

function between(one: Cell, other: Cell): Area {
  return {
    from: Math.min(one.row, other.row),
    to: Math.max(one.row, other.row) + 1,
    left: Math.min(one.place, other.place),
    right: Math.max(one.place, other.place),
  };
}

/** The cell that keys move, and the cells selected between it and another one. */
export function useSelection(total: number, layout: Layout, scroll: Scroll, redraw: () => void) {
  // Not a state: keys may come faster than pictures.
  const now = useRef<Selected>({ cell: null, anchor: null });
  const put = (selected: Selected) => {
    now.current = selected;
    redraw();
  };
  const last = { row: total - 1, place: layout.shown.length - 1 };
  /** Select one, or as far as from the first one: cells, or their whole rows or columns. */
  const select = (part: Part, to: Cell, extends_: boolean) => {
    const { cell, anchor } = now.current;
    const next = { row: clamp(to.row, 0, last.row), place: clamp(to.place, 0, last.place) };
    const from = (extends_ && (anchor ?? cell)) || next;
    if (part === "row")
      put({ cell: { ...next, place: 0 }, anchor: { ...from, place: last.place } });
    else if (part === "column")
      put({ cell: { ...next, row: 0 }, anchor: { ...from, row: last.row } });
    else put({ cell: next, anchor: extends_ ? from : null });
  };
  /** Scroll to the cell. */
  const reveal = (part: Part) => {
    const { row, place } = now.current.cell ?? last;
    const top = scroll.row.current;
    const lowest = top + Math.floor(scroll.rows) - 1;
    if (part !== "column" && row < top) scroll.goto(row);
    else if (part !== "column" && row > lowest) scroll.goto(row - scroll.rows + 1);
    if (part !== "row") layout.reveal(place);
  };
  const move = (to: Cell, extends_: boolean) => {
    select("cell", to, extends_);
    reveal("cell");
  };
  /** The selected cells, or the one. */
  const area = () => {
    const { cell, anchor } = now.current;
    const corner = cell ?? { row: 0, place: 0 };
    return between(corner, anchor ?? corner);
  };
  return {
    now,
    area,
    move,
    selectAll: () => put({ anchor: { row: 0, place: 0 }, cell: last }),
    /** Select the whole rows or columns of what is selected. */
    widen: (part: Part) => {
      const { from, to, left, right } = area();
      now.current = { cell: { row: from, place: left }, anchor: null };
      select(part, { row: to - 1, place: right }, true);
    },
    onMouseDown: useDragged(layout, scroll, select, reveal),
    /** Several cells, none without a second corner. */
    several: now.current.anchor && area(),
    unselect: () => put({ ...now.current, anchor: null }),
    /** In another view, at the first row. */
    restart: () => {
      const { cell } = now.current;
      put({ anchor: null, cell: cell && { ...cell, row: 0 } });
    },
  };
}
