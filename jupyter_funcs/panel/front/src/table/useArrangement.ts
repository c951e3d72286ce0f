import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import { clamp } from "../chart/scales";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { Arrangement } from "../core/useSeen";
import { usualOrder } from "./columns";
import type { Columns } from "./useColumns";

export type Widths = Arrangement["widths"];

/** How the columns of a table are arranged at first; those of a pivot or points keep theirs. */
function usual(table: P.TableView, steps: P.Step[]): Arrangement {
  const places = Array.from({ length: table.count }, (_, at) => at);
  const isMade = steps.some(({ kind }) => kind !== "column");
  return { order: isMade ? places : usualOrder(table), widths: {}, pinned: null };
}

const allowed = (width: number) => clamp(width, 48, 800);

/**
 * How a person has arranged the columns: their order, their widths, and which are pinned; `null`
 * for as many labels as are a small part of the width.
 */
export function useArrangement(table: P.TableView, hidden: number[], columns: Columns) {
  const { announce, seen, keep } = usePanel();
  const [first] = useState(() => seen.arranged ?? usual(table, seen.steps));
  const [order, setOrder] = useState(first.order);
  const [widths, setWidths] = useState(first.widths);
  const [pinned, setPinned] = useState(first.pinned);
  useLayoutEffect(() => {
    const isFirst = order === first.order && widths === first.widths && pinned === first.pinned;
    if (!isFirst) keep({ arranged: { order, widths, pinned } });
  }, [order, widths, pinned]);
  const shown = useMemo(() => {
    const seen = order.filter((at) => !hidden.includes(at));
    const isPinned = (at: number) => pinned?.includes(at) ?? false;
    return [...seen.filter(isPinned), ...seen.filter((at) => !isPinned(at))];
  }, [order, pinned, hidden]);

  const setWidth = (at: number, wanted: number) => {
    const width = allowed(wanted);
    setWidths((before) => ({ ...before, [at]: width }));
    return width;
  };
  /** Put a column into another place among those that are shown. */
  const move = (at: number, to: number) => {
    const place = clamp(to, 0, shown.length - 1);
    const next = shown.filter((other) => other !== at)[place];
    const others = order.filter((other) => other !== at);
    const before = next === undefined ? others.length : others.indexOf(next);
    setOrder([...others.slice(0, before), at, ...others.slice(before)]);
    announce(`${columns.nameOf(at)} is column ${place + 1}`);
  };
  const toggled = (at: number, now: number[]) =>
    now.includes(at) ? now.filter((other) => other !== at) : [...now, at];
  /** Pin a column, or no longer; `now` are those that are pinned. */
  const pin = (at: number, now: number[]) => setPinned(toggled(at, now));
  return { shown, widths, pinned, setWidth, move, pin };
}
