import { useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { WIDE } from "./pages";

export type Columns = ReturnType<typeof useColumns>;

/** Of more rows, a summary takes a second: one column after the other. */
const MANY_ROWS = 2_000_000;

/** What is known of the columns, by position; summaries are read of those that come into sight. */
export function useColumns({ table, number: run }: P.ResultView, redraw: () => void) {
  const { ask, tell } = usePanel();
  const [known] = useState(() => new Map(table.columns.map((column) => [column.at, column])));
  const asked = useRef(new Set<number>());
  const isReading = useRef(false);

  const read = (seen: number[]) => {
    const missing = seen
      .filter((at) => !known.get(at)?.summary && !asked.current.has(at))
      .slice(0, table.rows > MANY_ROWS ? 1 : WIDE);
    if (!missing.length || isReading.current) return;
    for (const at of missing) asked.current.add(at);
    isReading.current = true;
    const reply = ask("columns", { run, columns: missing }).then(({ columns }) => {
      for (const column of columns) known.set(column.at, column);
    });
    const ended = reply.finally(() => {
      isReading.current = false;
      redraw();
    });
    void tell(ended);
  };
  const get = (at: number) => known.get(at);
  const nameOf = (at: number) => known.get(at)?.name ?? "";
  return { get, nameOf, read, size: known.size };
}
