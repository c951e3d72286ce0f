import { useRef, useState } from "preact/hooks";
import { count, plural } from "../core/format";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useRedraw } from "../core/useRedraw";
import { useUniqueId } from "../core/useUniqueId";
import { useCode } from "./useCode";
import { useColumns } from "./useColumns";
import { useCopy } from "./useCopy";
import { useKeptInSight } from "./useKeptInSight";
import { useKeys } from "./useKeys";
import { useLayout } from "./useLayout";
import { useOpened } from "./useOpened";
import { useQuery } from "./useQuery";
import { useReading } from "./useReading";
import { useScroll } from "./useScroll";
import { useSelection } from "./useSelection";
import { useView } from "./useView";

export type GridState = ReturnType<typeof useGrid>;

/** Everything that the parts of the grid draw. */
export function useGrid(result: P.ResultView) {
  const { live, tell, query: kept } = usePanel();
  const { table, number: run } = result;
  const off = live === "gone";
  const id = useUniqueId();
  const redraw = useRedraw();
  const box = useRef<HTMLDivElement>(null);
  const [hidden, setHidden] = useState(kept.hidden);

  const columns = useColumns(result, redraw);
  const view = useView(result, redraw);
  const { pages } = view;
  const { total } = pages;
  const scroll = useScroll(box, pages, redraw);
  const layout = useLayout(box, table, hidden, columns, scroll);
  const selection = useSelection(total, layout, scroll, redraw);
  useReading(off, view, columns, layout, scroll);
  useKeptInSight(columns, layout, scroll, selection);
  const query = useQuery(result, view, columns, layout, scroll, selection);
  const code = useCode(run, pages.query, off);
  const copy = useCopy(run, pages, layout, selection);
  const hide = (next: number[]) => {
    setHidden(next);
    query.hide(next);
  };
  const opened = useOpened(box, hidden, hide, layout, scroll, selection);
  const onKeyDown = useKeys(total, layout, scroll, selection, {
    copy,
    open: opened.open,
    list: () => opened.listFrom(box.current),
  });

  const isPart = total < table.rows || pages.query.filters.length > 0 || pages.query.find !== "";
  const rows = plural(isPart ? table.rows : total, "row");
  return {
    id,
    tell,
    run,
    table,
    off,
    box,
    columns,
    pages,
    wanted: view.wanted,
    scroll,
    layout,
    selection,
    query,
    code,
    hidden,
    hide,
    onKeyDown,
    ...opened,
    isPart,
    /** "7,710 of 10,956 rows" */
    told: isPart ? `${count(total)} of ${rows}` : rows,
  };
}
