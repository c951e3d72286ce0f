import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../core/format";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { ALL } from "../core/query";
import { isNumber } from "./columns";
import { groupOf } from "./pages";
import { sorted } from "./sorted";
import type { Columns } from "./useColumns";
import type { Layout } from "./useLayout";
import type { Scroll } from "./useScroll";
import type { Selection } from "./useSelection";
import type { View } from "./useView";

/** Milliseconds at rest after which what was typed is searched. */
const TYPING = 200;

/**
 * What the table is sorted, filtered and searched by; each change is shown once its first page is
 * here.
 */
export function useQuery(
  { table }: P.ResultView,
  view: View,
  columns: Columns,
  layout: Layout,
  scroll: Scroll,
  selection: Selection,
) {
  const { tell, query, setQuery, announce } = usePanel();
  const { wanted } = view;
  const [find, setFind] = useState(query.find);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const show = async (next: P.TableQuery, keepsPlace = false) => {
    const pages = await view.load(next, groupOf(layout.seen[0] ?? 0));
    if (!pages) return;
    view.show(pages);
    // Not where it was when the pages were asked for: it may be scrolled meanwhile.
    scroll.put(keepsPlace ? scroll.row.current : 0);
    selection.restart();
    setQuery(next);
    announce(`${count(pages.total)} of ${count(table.rows)} rows`);
  };
  const change = (more: Partial<P.TableQuery>) => show({ ...wanted.current, ...more });

  // Drawn again after it was away, with a query that is still that of the chart.
  useLayoutEffect(() => {
    const isOther = JSON.stringify(query) !== JSON.stringify(view.pages.query);
    // What was filtered in another result may not be possible in this one.
    if (isOther) tell(show(query, true).catch(refused(() => setQuery(ALL))));
  }, []);
  useLayoutEffect(() => () => clearTimeout(typing.current), []);

  const sort = (at: number, adds: boolean) => {
    const isDown = isNumber(columns.get(at));
    void tell(change({ sort: sorted(wanted.current.sort, at, isDown, adds) }));
  };
  const filter = (at: number, next: P.Filter | null) => {
    const others = wanted.current.filters.filter((other) => other.at !== at);
    return change({ filters: next ? [...others, next] : others });
  };
  /** A search finds what is shown. */
  const search = (text: string, hidden: number[]) => {
    setFind(text);
    clearTimeout(typing.current);
    typing.current = setTimeout(() => void tell(change({ find: text, hidden })), TYPING);
  };
  const hide = (hidden: number[]) => {
    if (wanted.current.find) return void tell(change({ hidden }));
    wanted.current = { ...wanted.current, hidden };
    setQuery(wanted.current);
  };
  const clear = () => {
    setFind("");
    void tell(change({ filters: [], find: "" }));
  };
  return { find, sort, filter, search, hide, clear };
}

/** Do something about an error that is told. */
const refused = (act: () => void) => (error: Error) => {
  act();
  throw error;
};
