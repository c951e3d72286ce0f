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

/**
 * What the table of a result shows, and where it is scrolled to: both outlive a reload, where the
 * panel has a name.
 */
export function useSeen(panel: string | undefined, number: number) {
  const [kept, setKept] = useState<Seen>(() => (panel && stored(panel)) || unseen(0));
  const seen = kept.number === number ? kept : unseen(number);
  const keep = (next: Seen) => {
    if (panel) store(panel, next);
  };
  return {
    /** What the table shows, which the chart and a filtered file follow. */
    query: seen.query,
    setQuery: (query: P.TableQuery) => {
      keep({ ...seen, query });
      setKept({ ...seen, query });
    },
    place: seen.place,
    /** Not drawn again for it. */
    setPlace: (top: number, left: number) => {
      Object.assign(seen.place, { top, left });
      keep(seen);
    },
  };
}
