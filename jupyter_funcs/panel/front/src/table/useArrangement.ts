import { useMemo, useState } from "preact/hooks";
import { clamp } from "../chart/scales";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { usualOrder } from "./columns";
import type { Columns } from "./useColumns";

export type Widths = Record<number, number>;

const allowed = (width: number) => clamp(width, 48, 800);

/**
 * How a person has arranged the columns: their order, their widths, and which are pinned; `null`
 * for as many labels as are a small part of the width.
 */
export function useArrangement(table: P.TableView, hidden: number[], columns: Columns) {
  const { announce } = usePanel();
  const [order, setOrder] = useState(() => usualOrder(table));
  const [widths, setWidths] = useState<Widths>({});
  const [pinned, setPinned] = useState<number[] | null>(null);
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
