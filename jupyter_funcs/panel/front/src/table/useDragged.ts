import { useEffect, useRef } from "preact/hooks";
import type { Layout } from "./useLayout";
import { ROW, type Scroll } from "./useScroll";
import type { Cell } from "./useSelection";

/** What is selected: cells, or all of the rows or columns that they are in. */
export type Part = "cell" | "row" | "column";

/** Milliseconds between two steps beyond an edge. */
const STEP = 60;
/** What a mouse does something else with. */
const OTHERS = "button, svg, .jf-top, .jf-grip";

/** What the mouse is pressed on; `null` for what it does something else with. */
function partOf(event: MouseEvent): Part | null {
  const target = event.target as HTMLElement;
  if (event.button) return null;
  if (target.closest(".jf-td")) return "cell";
  if (target.closest(".jf-tr > .jf-no")) return "row";
  const isKey = event.ctrlKey || event.metaKey;
  return target.closest(".jf-th") && (isKey || !target.closest(OTHERS)) ? "column" : null;
}

type Select = (part: Part, to: Cell, extends_: boolean) => void;

/** Select by pressing and dragging; beyond an edge, the grid scrolls. */
export function useDragged(
  layout: Layout,
  scroll: Scroll,
  select: Select,
  reveal: (part: Part) => void,
) {
  const latest = useRef({ layout, scroll, select, reveal });
  latest.current = { layout, scroll, select, reveal };
  const pressed = useRef(new AbortController());
  useEffect(() => () => pressed.current.abort(), []);

  const cellAt = (grid: HTMLElement, { clientX, clientY }: MouseEvent): Cell => {
    const { left, top } = grid.getBoundingClientRect();
    const { layout, scroll } = latest.current;
    const row = Math.floor(scroll.row.current + (clientY - top - scroll.head) / ROW);
    return { row, place: layout.placeAt(clientX - left) };
  };
  return (event: MouseEvent) => {
    const grid = event.currentTarget as HTMLElement;
    const part = partOf(event);
    if (!part) return;
    grid.focus({ preventScroll: true });
    event.preventDefault();
    let at = cellAt(grid, event);
    select(part, at, event.shiftKey);
    let held = event;
    const drag = () => {
      const next = cellAt(grid, held);
      if (next.row === at.row && next.place === at.place) return;
      at = next;
      latest.current.select(part, at, true);
      latest.current.reveal(part);
    };
    pressed.current = new AbortController();
    const { signal } = pressed.current;
    const timer = setInterval(drag, STEP);
    signal.addEventListener("abort", () => clearInterval(timer));
    const onMove = (moved: MouseEvent) => {
      held = moved;
      if (moved.buttons) drag();
      else pressed.current.abort();
    };
    addEventListener("mousemove", onMove, { signal });
    addEventListener("mouseup", () => pressed.current.abort(), { signal });
  };
}
