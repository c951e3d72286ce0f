import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";
import type { Area, Cell, Selection } from "./useSelection";

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
  copy: (area: Area) => Promise<unknown>,
) {
  const page = Math.max(1, Math.floor(scroll.rows) - 1);

  /** Move, or change the width of a column; `false` for another key. */
  const moved = (event: KeyboardEvent, cell: Cell | null) => {
    const control = event.ctrlKey || event.metaKey;
    const here = cell ?? { row: Math.ceil(scroll.row.current), place: 0 };
    const step = stepOf(event.key, page);
    const go = (row: number, place: number) => selection.move({ row, place }, event.shiftKey);
    if (event.altKey && step?.[1]) layout.widen(layout.shown[here.place], step[1]);
    else if (step && !event.altKey && !cell) go(here.row, here.place);
    else if (step && !event.altKey) go(here.row + step[0], here.place + step[1]);
    else if (event.key === "Home") go(control ? 0 : here.row, 0);
    else if (event.key === "End") go(control ? total - 1 : here.row, layout.shown.length - 1);
    else return false;
    return true;
  };

  /** Copy or select; `false` for another key. */
  const chosen = (event: KeyboardEvent, cell: Cell | null) => {
    const control = event.ctrlKey || event.metaKey;
    const letter = control ? event.key.toLowerCase() : "";
    if (event.key === "Enter" && !control && cell) {
      void copy({ from: cell.row, to: cell.row + 1, left: cell.place, right: cell.place });
    } else if (letter === "c" && cell) void copy(selection.area());
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
