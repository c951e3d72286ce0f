import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { columnsOf, PAGE, Pages } from "./pages";

export type View = ReturnType<typeof useView>;

/** The pages of what the table shows, and those of another query once they are here. */
export function useView({ table, number: run }: P.ResultView, redraw: () => void) {
  const { ask, toast } = usePanel();
  const [first] = useState(() => Pages.of(table));
  const shown = useRef(first);
  /** What was asked for last: the next click adds to it, though its page may be on its way. */
  const wanted = useRef(first.query);
  const turn = useRef(0);
  // What was asked for a table that is gone meanwhile says nothing of the one that is shown.
  useLayoutEffect(
    () => () => {
      turn.current += 1;
    },
    [],
  );

  const request = (query: P.TableQuery, block: number, group: number) => {
    const columns = columnsOf(group, table.count);
    return ask("rows", { run, from: block * PAGE, to: (block + 1) * PAGE, columns, query });
  };

  const read = (block: number, group: number) => {
    const pages = shown.current;
    if (!pages.lacks(block, group)) return;
    pages.ask(block, group);
    request(pages.query, block, group).then(
      (page) => {
        pages.put(page);
        if (pages === shown.current) redraw();
      },
      (error: Error) => {
        pages.miss(block, group);
        if (pages === shown.current) toast(error.message);
      },
    );
  };

  /** Ask for the first page of a query; `null` if another was asked for meanwhile. */
  const load = async (query: P.TableQuery, group: number) => {
    turn.current += 1;
    const mine = turn.current;
    wanted.current = query;
    const page = await request(query, 0, group).catch((error: Error) => {
      if (mine === turn.current) wanted.current = shown.current.query;
      throw error;
    });
    return mine === turn.current ? new Pages(query, page) : null;
  };

  const show = (pages: Pages) => {
    shown.current = pages;
  };
  return { pages: shown.current, wanted, read, load, show };
}
