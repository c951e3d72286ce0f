import { useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useReply } from "../core/useReply";
import { Compare, type Pair } from "./compare";
import { trapTab, useDrawerFocus } from "./drawer";
import { HistoryHead } from "./historyhead";
import { Runs } from "./runs";

const FIRST_OF_RUNS = "input:checked, input, button";
const FIRST_OF_COMPARISON = '[data-jf="compare-back"]';

/** The runs of this kernel in a drawer over the result, and two of them compared. */
export function History({ close }: { close: () => void }) {
  const { toast, live } = usePanel();
  const box = useRef<HTMLElement>(null);
  const { rows, trouble, forget } = useRuns();
  const [ticked, setTicked] = useState<P.RunNumber[]>([]);
  const [pair, setPair] = useState<Pair | null>(null);
  const { leaving, again, open } = useLeaving(close);
  useDrawerFocus(box, pair ? FIRST_OF_COMPARISON : FIRST_OF_RUNS, [pair === null, rows === null]);

  const off = live === "gone" || leaving;
  const chosen = (rows ?? []).filter((row) => ticked.includes(row.number));
  const tick = (number: P.RunNumber) => setTicked(toggled(ticked, number));
  const compare = () => {
    if (chosen.length !== 2) return toast("Tick two runs to compare.");
    const [after, before] = chosen.map((row) => row.number); // the newest is first
    setPair({ before, after, again: chosen.some((row) => !row.held) });
  };
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      event.stopPropagation();
      if (pair) setPair(null);
      else close();
    }
    if (event.key === "Tab" && box.current) trapTab(event, box.current);
  };
  return (
    <>
      <div class="jf-scrim" onClick={close} />
      <section
        class="jf-drawer"
        ref={box}
        role="dialog"
        aria-modal="true"
        aria-label={pair ? "Compare two runs" : "History"}
        tabindex={-1}
        data-jf="drawer"
        onKeyDown={keys}
      >
        {pair ? (
          <Compare pair={pair} show={setPair} close={close} />
        ) : (
          <>
            <HistoryHead rows={rows} chosen={chosen} off={off} compare={compare} close={close} />
            <div class="jf-scroll" tabindex={0} role="region" aria-label="Runs">
              <Runs
                rows={rows}
                trouble={trouble}
                ticked={ticked}
                off={off}
                actions={{ tick, again, open, forget }}
              />
            </div>
          </>
        )}
      </section>
    </>
  );
}

/** The runs of this kernel, and once the service has said so those that it keeps. */
function useRuns() {
  const { ask, tell, run } = usePanel();
  const [forgotten, setForgotten] = useState(0);
  const changes = [run.number, run.state, run.ran, forgotten];
  const [reply, trouble] = useReply("history", { kept: false }, changes);
  const [all] = useReply("history", { kept: true }, changes);
  const forget = ({ number }: P.HistoryRow) =>
    void tell(ask("forget", { kept: number }).then(() => setForgotten(forgotten + 1)));
  return { rows: (all ?? reply)?.rows ?? null, trouble, forget };
}

/** What closes the drawer once the kernel has answered. */
function useLeaving(close: () => void) {
  const { ask, tell } = usePanel();
  const [leaving, setLeaving] = useState(false);
  const leave = (reply: Promise<unknown>) => {
    setLeaving(true);
    void tell(reply.then(close).finally(() => setLeaving(false)));
  };
  const again = ({ number }: P.HistoryRow) => leave(ask("again", { number }));
  const open = ({ number, kept }: P.HistoryRow) =>
    leave(kept ? ask("fetch", { kept: number }) : ask("open", { number }));
  return { leaving, again, open };
}

/** Tick a run or remove its tick; two at most are ticked. */
function toggled(ticked: P.RunNumber[], number: P.RunNumber) {
  if (ticked.includes(number)) return ticked.filter((other) => other !== number);
  return [...ticked.slice(-1), number];
}
