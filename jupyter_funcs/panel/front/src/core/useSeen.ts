import { useRef, useState } from "preact/hooks";
import type * as P from "./protocol";
import { ALL } from "./query";
import { store, stored } from "./stored";

/** A table that steps make, and what was chosen for its pivot. */
export interface Shape {
  table: P.TableView;
  pivot: P.PivotView | null;
}

/** Columns by position. */
export interface Arrangement {
  order: number[];
  widths: Record<number, number>;
  pinned: number[] | null;
}

/** The view of a table, which a person has chosen. */
export interface Seen {
  /** The number of the result. */
  number: number;
  function: string;
  steps: P.Step[];
  query: P.TableQuery;
  place: { top: number; left: number };
  arranged?: Arrangement;
  /** The columns of the table, by which the next result is told to be one of the same kind. */
  names: string[];
  /** What the table could not take over. */
  note: string;
  /** How often it was reset. */
  turn: number;
}

const namesOf = ({ columns }: P.TableView) => columns.map(({ name }) => name);

export const unseen = (result: P.ResultView | null): Seen => ({
  number: result?.number ?? 0,
  function: result?.function ?? "",
  steps: [],
  query: ALL,
  place: { top: 0, left: 0 },
  names: [],
  note: "",
  turn: 0,
});

/** A view of another table: what it says of columns that are there, too. */
export function fitted(seen: Seen, number: number, table: P.TableView): Seen {
  const names = namesOf(table);
  const { query } = seen;
  const isSame = !seen.names.length || String(names) === String(seen.names);
  const fits = { ...seen, number, names, note: "" };
  if (isSame) return fits;
  const lost = new Set<string>();
  const moved = <T extends { at: number }>(parts: T[]) =>
    parts.flatMap((part) => {
      const at = names.indexOf(seen.names[part.at] ?? "");
      if (at < 0) lost.add(seen.names[part.at] ?? "");
      return at < 0 ? [] : [{ ...part, at }];
    });
  const next = {
    ...query,
    sort: moved(query.sort),
    filters: moved(query.filters),
    hidden: moved(query.hidden.map((at) => ({ at }))).map(({ at }) => at),
  };
  const note = lost.size ? `Not in this table: ${[...lost].join(", ")}.` : "";
  return { ...fits, query: next, place: { top: 0, left: 0 }, arranged: undefined, note };
}

/**
 * What the table of a function shows, and where it is scrolled to: both outlive the next run, and a
 * reload, where the panel has a name.
 */
export function useSeen(panel: string | undefined, result: P.ResultView | null) {
  const [kept, setKept] = useState<Seen>(() => (panel && stored(panel)) || unseen(null));
  /** The table that the latest steps make, by their text. */
  const shaped = useRef<[key: string, shape: Shape] | null>(null);
  const isOther = result !== null && kept.function !== result.function;
  const seen = isOther ? unseen(result) : kept;
  const isNew = result !== null && (isOther || kept.number !== result.number);
  const adopt = (next: Seen) => {
    if (panel) store(panel, next);
    setKept(next);
  };
  /** Nothing is drawn again for it. */
  const keep = (more: Partial<Seen>) => {
    if (isNew) return;
    Object.assign(seen, more);
    if (panel) store(panel, seen);
  };
  return {
    seen,
    adopt,
    shaped,
    /** The result is another one: its table is to be fitted to the view. */
    isNew,
    /** What the table shows, which the chart and a filtered file follow. */
    query: isNew ? ALL : seen.query,
    setQuery: (query: P.TableQuery) => adopt({ ...seen, query, note: "" }),
    place: isNew ? unseen(result).place : seen.place,
    keep,
    setPlace: (top: number, left: number) => keep({ place: { top, left } }),
  };
}
