import { useLayoutEffect, useRef } from "preact/hooks";
import { clamp } from "../chart/scales";
import { TIMES } from "../core/times";
import { blockOf, groupOf, PAGE } from "./pages";
import type { Columns } from "./useColumns";
import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";
import type { View } from "./useView";

/** Ask for what comes into sight: its pages and the next one, and what is said of its columns. */
export function useReading(
  off: boolean,
  view: View,
  columns: Columns,
  layout: Layout,
  scroll: Scroll,
) {
  const at = useRef(0);
  useLayoutEffect(() => {
    if (off) return undefined;
    const first = blockOf(scroll.top);
    const read = () => {
      const { seen } = layout;
      const last = blockOf(scroll.top + scroll.rows + PAGE / 2);
      at.current = first;
      for (const group of new Set(seen.map(groupOf))) {
        if (view.pages.isPart) view.read(0, group); // with the parts of the summaries
        for (let block = first; block <= last; block++) view.read(block, group);
      }
      columns.read(seen);
    };
    if (Math.abs(first - at.current) < 2) return read();
    // A scroll bar that is dragged passes rows that nobody reads; a busy page moves it less often.
    const slowest = scroll.pause < TIMES.busy ? TIMES.longestRest : 0;
    const rest = setTimeout(read, clamp(3 * scroll.pause, TIMES.rest, slowest));
    return () => clearTimeout(rest);
  });
}
