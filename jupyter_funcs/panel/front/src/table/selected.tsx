import { useEffect, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import type { GridState } from "./useGrid";

/** Milliseconds at rest after which a selection is added up. */
const REST = 120;

/** How many cells are selected, with their sum, mean and range. */
export function Selected({ grid }: { grid: GridState }) {
  const { ask, announce } = usePanel();
  const { layout, off, pages, run, selection } = grid;
  const [facts, setFacts] = useState<P.Fact[]>([]);
  const area = selection.several;
  const key = area && JSON.stringify([area, layout.shown, pages.query]);
  useEffect(() => {
    setFacts([]);
    if (!area || off) return;
    let isStale = false;
    const { from, to, left, right } = area;
    const columns = layout.shown.slice(left, right + 1);
    const look = async () => {
      const reply = await ask("facts", { run, from, to, columns, query: pages.query });
      if (isStale) return;
      setFacts(reply.facts);
      announce(reply.facts.map(([name, brief]) => `${name} ${brief}`).join(", "));
    };
    const timer = setTimeout(() => look().catch(() => {}), REST);
    return () => {
      isStale = true;
      clearTimeout(timer);
    };
  }, [key]);
  if (!facts.length) return null;
  return (
    <p class="jf-facts jf-num" data-jf="facts">
      {facts.map(([name, brief, exact]) => (
        <span title={`${name} ${exact}`}>
          {name} <b>{brief}</b>
        </span>
      ))}
    </p>
  );
}
