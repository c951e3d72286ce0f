import { useState } from "preact/hooks";
import type * as P from "./protocol";
import { ALL } from "./query";
import { store, stored } from "./stored";

interface Seen {
  /** The number of the result. */
  number: number;
  query: P.TableQuery;
  place: { top: number; left: number };
}

const unseen = (number: number): Seen => ({ number, query: ALL, place: { top: 0, left: 0 } });

/** What the table of a result shows, and where it is scrolled to: both outlive a reload. */
export function useSeen(panel: string | undefined, number: number) {
  const [kept, setKept] = useState<Seen>(() => stored(panel ?? "") ?? unseen(0));
  const seen = kept.number === number ? kept : unseen(number);
  const key = panel ?? "";
  return {
    /** What the table shows, which the chart and a filtered file follow. */
    query: seen.query,
    setQuery: (query: P.TableQuery) => {
      store(key, { ...seen, query });
      setKept({ ...seen, query });
    },
    place: seen.place,
    /** Not drawn again for it. */
    setPlace: (top: number, left: number) => {
      Object.assign(seen.place, { top, left });
      store(key, seen);
    },
  };
}
