import type { RefObject } from "preact";
import { useState } from "preact/hooks";
import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";
import type { Selection } from "./useSelection";

/** What is open beside the grid: the cell, and the list of columns with what it is opened from. */
export function useOpened(
  box: RefObject<HTMLElement>,
  hidden: number[],
  hide: (hidden: number[]) => void,
  layout: Layout,
  scroll: Scroll,
  selection: Selection,
) {
  const [isOpen, openCell] = useState(false);
  const [listed, listFrom] = useState<HTMLElement | null>(null);
  /** Open the cell, and as if pressed what its value is used in. */
  const open = (uses: boolean) => {
    openCell(true);
    const button = '[data-jf="use-in"]';
    const press = () => box.current?.parentElement?.querySelector<HTMLElement>(button)?.click();
    if (uses) setTimeout(press);
  };
  /** Move the cell into a column; one that is hidden is shown. */
  const goTo = (at: number) => {
    listFrom(null);
    if (hidden.includes(at)) return hide(hidden.filter((other) => other !== at));
    const row = selection.now.current.cell?.row ?? Math.ceil(scroll.row.current);
    selection.move({ row, place: layout.shown.indexOf(at) }, false);
    box.current?.focus({ preventScroll: true });
  };
  return { isOpen, openCell, open, listed, listFrom, goTo };
}
