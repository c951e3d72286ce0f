import { useEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

export type FoundFunction = P.Section["functions"][number];

/** What the kernel has found, and what for. */
export interface Found {
  query: string;
  sections: P.Section[];
  total: number;
  found: number;
}

/** Milliseconds at rest after which what was typed is searched. */
const TYPING = 120;

/** Functions that match, a page at a time; the kernel ranks. */
export function useSearch(query: string) {
  const { ask, toast } = usePanel();
  const [found, setFound] = useState<Found | null>(null);
  const turn = useRef(0);
  const rows = found?.sections.flatMap((section) => section.functions) ?? [];

  const search = (wanted: string, from = 0) => {
    turn.current += 1;
    const mine = turn.current;
    const earlier = from ? (found?.sections ?? []) : [];
    return ask("functions", { query: wanted, from }).then(
      (reply) => {
        if (mine !== turn.current) return;
        setFound({ ...reply, sections: [...earlier, ...reply.sections], query: wanted });
      },
      (error: Error) => {
        if (mine === turn.current) toast(error.message);
      },
    );
  };
  useEffect(() => {
    const timer = setTimeout(() => void search(query.trim()), query ? TYPING : 0);
    return () => clearTimeout(timer);
  }, [query]);

  return {
    found,
    rows,
    again: () => search(query.trim()),
    more: () => {
      if (found && rows.length < found.found) void search(found.query, rows.length);
    },
  };
}
