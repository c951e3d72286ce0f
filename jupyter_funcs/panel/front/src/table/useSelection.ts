import { useRef } from "preact/hooks";
import { clamp } from "../chart/scales";
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
  const extend = (cell: Cell, selects: boolean) => {
    const { cell: before, anchor } = now.current;
    put({ cell, anchor: selects ? (anchor ?? before ?? cell) : null });
  };

  const move = (to: Cell, selects: boolean) => {
    const row = clamp(to.row, 0, total - 1);
    const place = clamp(to.place, 0, layout.shown.length - 1);
    extend({ row, place }, selects);
    const top = scroll.row.current;
    if (row < top) scroll.goto(row);
    else if (row > top + Math.floor(scroll.rows) - 1) scroll.goto(row - scroll.rows + 1);
    layout.reveal(place);
  };
  const selectAll = () => {
    const last = { row: total - 1, place: layout.shown.length - 1 };
    put({ anchor: { row: 0, place: 0 }, cell: last });
  };
  const onMouseDown = (event: MouseEvent) => {
    const cell = (event.target as HTMLElement).closest<HTMLElement>(".jf-td");
    if (!cell) return;
    const { r, c } = cell.dataset;
    extend({ row: Number(r), place: Number(c) }, event.shiftKey);
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
    selectAll,
    onMouseDown,
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
