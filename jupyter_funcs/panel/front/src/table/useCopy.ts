import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { Pages } from "./pages";
import type { Layout } from "./useLayout";
import type { Area, Selection } from "./useSelection";

/** Copy cells as tab-separated text; with the names of the columns, if they are all. */
export function useCopy(run: number, pages: Pages, layout: Layout, selection: Selection) {
  const { ask, tell, copy } = usePanel();
  return ({ from, to, left, right }: Area) => {
    const columns = layout.shown.slice(left, right + 1);
    const isAll = to - from === pages.total && columns.length === layout.shown.length;
    const names = isAll && selection.now.current.anchor !== null;
    const { query }: { query: P.TableQuery } = pages;
    const reply = ask("copy", { run, from, to, columns, query, names });
    return tell(reply.then(({ text }) => copy(text)));
  };
}
