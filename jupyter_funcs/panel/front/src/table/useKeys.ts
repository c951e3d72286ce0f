import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";
import type { Area, Cell, Selection } from "./useSelection";

interface Acts {
  copy: (area: Area) => Promise<unknown>;
  /** The cell, and what its value is used in; and the list of columns. */
  open: (uses: boolean) => void;
  list: () => void;
}

/** How many rows and columns a key moves. */
function stepOf(key: string, page: number): [number, number] | undefined {
  const steps = new Map<string, [number, number]>([
    ["ArrowDown", [1, 0]],
    ["ArrowUp", [-1, 0]],
    ["ArrowRight", [0, 1]],
    ["ArrowLeft", [0, -1]],
    ["PageDown", [page, 0]],
    ["PageUp", [-page, 0]],
  ]);
  return steps.get(key);
}

/** The keys of a grid. */
export function useKeys(
  total: number,
  layout: Layout,
  scroll: Scroll,
  selection: Selection,
  acts: Acts,
) {
  const page = Math.max(1, Math.floor(scroll.rows) - 1);

  /** Move, or change the width of a column; `false` for another key. */
  const moved = (event: KeyboardEvent, cell: Cell | null) => {
    const control = event.ctrlKey || event.metaKey;
    const here = cell ?? { row: Math.ceil(scroll.row.current), place: 0 };
    const step = stepOf(event.key, page);
    const go = (row: number, place: number) => selection.move({ row, place }, event.shiftKey);
    const at = layout.shown[here.place];
    if (event.altKey && event.shiftKey && step?.[1]) layout.move(at, step[1]);
    else if (event.altKey && step?.[1]) layout.widen(at, step[1]);
    else if (step && !event.altKey && !cell) go(here.row, here.place);
    else if (step && !event.altKey) go(here.row + step[0], here.place + step[1]);
    else if (event.key === "Home") go(control ? 0 : here.row, 0);
    else if (event.key === "End") go(control ? total - 1 : here.row, layout.shown.length - 1);
    else return false;
    return true;
  };

  /** Copy, select or open; `false` for another key. */
  const chosen = (event: KeyboardEvent, cell: Cell | null) => {
    const control = event.ctrlKey || event.metaKey;
    const letter = control ? event.key.toLowerCase() : "";
    const part = control ? "column" : "row";
    if (event.key === " " && (control || event.shiftKey) && cell) selection.widen(part);
    else if (" Enter".includes(event.key) && !control && cell) acts.open(event.altKey);
    else if (letter === "g") acts.list();
    else if (letter === "c" && cell) void acts.copy(selection.area());
    else if (letter === "a") selection.selectAll();
    else if (event.key === "Escape" && selection.now.current.anchor) selection.unselect();
    else return false;
    return true;
  };

  return (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget || !total) return;
    const { cell } = selection.now.current;
    if (!moved(event, cell) && !chosen(event, cell)) return;
    event.preventDefault();
    event.stopPropagation();
  };
}
