import { useLayoutEffect } from "preact/hooks";
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
  useLayoutEffect(() => {
    if (off) return;
    const { seen } = layout;
    const groups = new Set(seen.map(groupOf));
    const last = blockOf(scroll.top + scroll.rows + PAGE / 2);
    for (const group of groups) {
      if (view.pages.isPart) view.read(0, group); // with the parts of the summaries
      for (let block = blockOf(scroll.top); block <= last; block++) view.read(block, group);
    }
    columns.read(seen);
  });
}
