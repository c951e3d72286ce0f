import { useLayoutEffect, useRef } from "preact/hooks";
import type { Columns } from "./useColumns";
import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";
import type { Selection } from "./useSelection";

/**
 * Columns get their own widths once more is known of them: a cell that was in sight stays there.
 */
export function useKeptInSight(
  columns: Columns,
  layout: Layout,
  scroll: Scroll,
  selection: Selection,
) {
  const before = useRef(layout.lefts);
  useLayoutEffect(() => {
    const place = selection.now.current.cell?.place ?? Number.NaN;
    const left = before.current[place];
    const right = before.current[place + 1];
    if (left >= scroll.left && right <= scroll.left + scroll.width) layout.reveal(place);
  }, [columns.size]);
  useLayoutEffect(() => {
    before.current = layout.lefts;
  });
}
