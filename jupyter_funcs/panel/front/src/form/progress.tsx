import { useEffect, useRef } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import { useRedraw } from "../core/useRedraw";

const TICK = 200; // milliseconds

/** Seconds since the run began, counted here: the kernel reports once a second. */
export function Elapsed({ hook = "elapsed" }) {
  const { run } = usePanel();
  const redraw = useRedraw();
  const elapsed = run.running?.elapsed ?? 0;
  const told = useRef({ elapsed: -1, at: 0 });
  if (told.current.elapsed !== elapsed) told.current = { elapsed, at: performance.now() };
  useEffect(() => {
    const timer = setInterval(redraw, TICK);
    return () => clearInterval(timer);
  }, []);
  const since = (performance.now() - told.current.at) / 1000;
  return (
    <span class="jf-num jf-quiet" data-jf={hook}>
      {(elapsed + since).toFixed(1)} s
    </span>
  );
}

/** A share of the runs that are done; without one, something that moves. */
export function Progress({ hook }: { hook?: string }) {
  const { done = 0, of = 0 } = usePanel().run.running ?? {};
  const isKnown = of > 1;
  const share = (100 * done) / of;
  return (
    <div
      class={`jf-prog ${isKnown ? "" : "is-open"}`}
      role={hook ? "progressbar" : undefined}
      aria-label={hook && "Progress"}
      aria-valuenow={hook && isKnown ? Math.round(share) : undefined}
      data-jf={hook}
    >
      <i style={isKnown ? { width: `${share}%` } : {}} />
    </div>
  );
}
