import { useEffect, useState } from "preact/hooks";
import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { Comparison } from "./comparison";

/** Two runs; `again` is whether those whose result is gone run again first. */
export type Pair = { before: P.RunNumber; after: P.RunNumber; again: boolean };

/** A run again, and the join of two large results, may take long. */
const PATIENCE = 600_000; // milliseconds

/** Two runs compared. */
export function Compare({
  pair,
  show,
  close,
}: {
  pair: Pair;
  show: (pair: Pair | null) => void;
  close: () => void;
}) {
  const { copy } = usePanel();
  const [run, setRun] = useState(pair.again);
  const { view, trouble, more } = useComparison(pair, run);
  const swap = () => show({ before: pair.after, after: pair.before, again: false });
  return (
    <>
      <div class="jf-dhead">
        <Button
          icon="back"
          aria="Back to history"
          data-jf="compare-back"
          onClick={() => show(null)}
        />
        <h2>Compare</h2>
        <span class="jf-quiet jf-cut jf-wide-only">{view && about(view)}</span>
        <span class="jf-gap" />
        <Button
          icon="compare"
          label="Swap"
          data-jf="compare-swap"
          disabled={!view}
          onClick={swap}
        />
        <Button
          icon="code"
          kind="jf-wide-only"
          label="Copy code"
          data-jf="compare-code"
          disabled={!view}
          onClick={() => view && void copy(view.code)}
        />
        <Button icon="x" aria="Close" data-jf="history-close" onClick={close} />
      </div>
      <div class="jf-scroll" tabindex={0} role="region" aria-label="Comparison">
        <div class="jf-cmp">
          {trouble && (
            <p class="jf-err" role="alert">
              {trouble}
            </p>
          )}
          {!trouble && !view && (
            <p class="jf-quiet" aria-busy="true">
              {run ? "Running again and comparing…" : "Comparing…"}
            </p>
          )}
          {!trouble && view && <Comparison view={view} more={more} again={() => setRun(true)} />}
        </div>
      </div>
    </>
  );
}

/** Ask for a comparison, and page by page for its rows. */
function useComparison({ before, after }: Pair, run: boolean) {
  const { ask, tell, live } = usePanel();
  const [view, setView] = useState<P.CompareView | null>(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    if (live === "gone") return undefined;
    let current = true;
    setTrouble("");
    setView(null);
    ask("compare", { before, after, from: 0, again: run }, PATIENCE).then(
      (reply) => current && setView(reply),
      (error) => current && setTrouble(error.message),
    );
    return () => {
      current = false;
    };
  }, [before, after, run]);
  const more = () => {
    const from = view?.rows.length ?? 0;
    const page = ask("compare", { before, after, from, again: false }, PATIENCE);
    const add = ({ rows }: P.CompareView) =>
      setView((old) => old && { ...old, rows: [...old.rows.slice(0, from), ...rows] });
    void tell(page.then(add));
  };
  return { view, trouble, more };
}

/** "run 8, 14:30, with run 9, 14:32 · Get Panel Daily". */
function about({ before, after }: P.CompareView) {
  const other = after.function === before.function ? "" : ` and ${after.function}`;
  const runs = `run ${before.number}, ${before.time}, with run ${after.number}, ${after.time}`;
  return `${runs} · ${before.function}${other}`;
}
