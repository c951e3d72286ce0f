import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { count } from "../core/format";
import { Button } from "../core/icons";
import type * as P from "../core/protocol";
import { usePanel, useReply } from "../core/state";
import { Compare } from "./compare";

/** The runs of this kernel in a drawer over the result, and two of them compared. */
export function History({ close }: { close: () => void }) {
  const { ask, tell, toast, run, live } = usePanel();
  const box = useRef<HTMLElement | null>(null);
  const [reply, trouble] = useReply("history", {}, [run.number, run.state, run.ran]);
  const rows = reply?.rows ?? null;
  const [ticked, setTicked] = useState<P.RunNumber[]>([]);
  const [pair, setPair] = useState<{
    before: P.RunNumber;
    after: P.RunNumber;
    again: boolean;
  } | null>(null);
  const [leaving, setLeaving] = useState(false);

  useLayoutEffect(() => {
    const panel = box.current?.closest(".jf-panel");
    return () =>
      (panel?.querySelector('[data-jf="history"]') as HTMLElement | null | undefined)?.focus({
        preventScroll: true,
      });
  }, []);
  // The first thing that can be used has the focus, also after another view.
  useLayoutEffect(() => {
    (
      box.current?.querySelector(
        pair ? '[data-jf="compare-back"]' : "input:checked, input, button",
      ) as HTMLElement | null | undefined
    )?.focus({ preventScroll: true });
  }, [pair === null, rows === null]);

  const keys = (event: KeyboardEvent) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      event.stopPropagation();
      if (pair) setPair(null);
      else close();
    }
    if (event.key !== "Tab" || !box.current) return;
    const stops = [
      ...box.current.querySelectorAll(
        'button:not(:disabled), input:not(:disabled), [tabindex="0"]',
      ),
    ] as HTMLElement[];
    const end = event.shiftKey ? stops[0] : stops.at(-1);
    if (event.target !== end && event.target !== box.current) return;
    event.preventDefault();
    (event.shiftKey ? stops.at(-1) : stops[0])?.focus();
  };
  const leave = (reply: Promise<unknown>) => {
    setLeaving(true);
    void tell(reply.then(close).finally(() => setLeaving(false)));
  };
  const tick = (number: P.RunNumber) =>
    setTicked(
      ticked.includes(number)
        ? ticked.filter((each) => each !== number)
        : [...ticked.slice(-1), number],
    );
  const off = live === "gone" || leaving;
  const chosen = (rows ?? []).filter((row) => ticked.includes(row.number));
  const lost = chosen.some((row) => !row.held);
  const start = () => {
    if (chosen.length !== 2) return toast("Tick two runs to compare.");
    const [after, before] = chosen.map((row) => row.number); // the newest is first
    setPair({ before, after, again: lost });
  };

  const head = (
    <div class="jf-dhead">
      <h2>History</h2>
      <span class="jf-quiet jf-wide-only">
        of this kernel
        {rows?.some(({ number }) => typeof number === "string") && " and earlier ones"}
      </span>
      <span class="jf-gap" />
      {chosen.length !== 2 && <span class="jf-quiet jf-wide-only">Tick two runs to compare</span>}
      <Button
        icon="compare"
        kind="is-line"
        label={
          lost && chosen.length === 2
            ? "Run again and compare"
            : `Compare${chosen.length ? ` (${chosen.length})` : ""}`
        }
        data-jf="compare"
        aria-disabled={chosen.length === 2 && !off ? undefined : "true"}
        onClick={() => off || start()}
      />
      <Button icon="x" aria="Close history" data-jf="history-close" onClick={close} />
    </div>
  );
  const again = (row: P.HistoryRow) => leave(ask("again", { number: row.number }));
  const open = (row: P.HistoryRow) => leave(ask("open", { number: row.number }));
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
          <Compare
            {...pair}
            back={() => setPair(null)}
            swap={() => setPair({ ...pair, before: pair.after, after: pair.before, again: false })}
            close={close}
          />
        ) : (
          <>
            {head}
            <div class="jf-scroll" tabindex={0} role="region" aria-label="Runs">
              {trouble ? (
                <p class="jf-quiet jf-cmp" role="alert">
                  {trouble}
                </p>
              ) : rows === null ? (
                <p class="jf-quiet jf-cmp" aria-busy="true">
                  Reading the history…
                </p>
              ) : rows.length === 0 ? (
                <p class="jf-quiet jf-cmp">Nothing has been run yet.</p>
              ) : (
                <table class="jf-hist">
                  <thead>
                    <tr>
                      <th scope="col">
                        <span class="jf-off">Compare</span>
                      </th>
                      <th scope="col">Time</th>
                      <th scope="col">Function</th>
                      <th scope="col" class="is-args">
                        Arguments that differ
                      </th>
                      <th scope="col" class="is-r">
                        Rows
                      </th>
                      <th scope="col" class="is-r is-opt">
                        Time taken
                      </th>
                      <th scope="col" class="is-opt">
                        Variable
                      </th>
                      <th scope="col">
                        <span class="jf-off">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {rows.map((row) => (
                      <Row
                        key={row.number}
                        row={row}
                        ticked={ticked.includes(row.number)}
                        tick={tick}
                        again={again}
                        open={open}
                        off={off}
                      />
                    ))}
                  </tbody>
                </table>
              )}
            </div>
          </>
        )}
      </section>
    </>
  );
}

function Row({
  row,
  ticked,
  tick,
  again,
  open,
  off,
}: {
  row: P.HistoryRow;
  ticked: boolean;
  tick: (number: P.RunNumber) => void;
  again: (row: P.HistoryRow) => void;
  open: (row: P.HistoryRow) => void;
  off: boolean;
}) {
  const { number, differs, rows, seconds, status, error } = row;
  return (
    <tr aria-selected={ticked} data-jf={`run:${number}`}>
      <td>
        {status === "done" && (
          <label class="jf-cbox">
            <input
              type="checkbox"
              checked={ticked}
              aria-label={`Compare run ${number}`}
              data-jf={`tick:${number}`}
              onChange={() => tick(number)}
            />
          </label>
        )}
      </td>
      <td class="jf-num jf-quiet">{row.time}</td>
      <td>{row.function}</td>
      <td class="is-args">
        {differs.length ? (
          differs.map((each) => (
            <span class="jf-arg" key={each.name}>
              {each.name} <b>{each.value}</b>
            </span>
          ))
        ) : (
          <span class="jf-quiet">none</span>
        )}
      </td>
      <td class="is-r">
        {status === "done" ? (
          <>
            {rows === null ? "" : count(rows)}
            {error && (
              <span class="jf-state-part" title={error}>
                {" part"}
              </span>
            )}
          </>
        ) : (
          <span
            class={status === "failed" ? "jf-state-bad" : "jf-quiet"}
            title={error || undefined}
          >
            {status}
          </span>
        )}
      </td>
      <td class="is-r is-opt jf-quiet">{seconds === null ? "" : `${seconds.toFixed(2)} s`}</td>
      <td class="is-opt jf-mono">{row.variable || "–"}</td>
      <td>
        <span class="jf-acts">
          <Button
            icon="refresh"
            aria={`Run ${number} again`}
            data-jf={`again:${number}`}
            disabled={off}
            onClick={() => again(row)}
          />
          <Button
            icon="open"
            aria={`Open run ${number}`}
            data-jf={`open:${number}`}
            disabled={off || status !== "done"}
            onClick={() => open(row)}
          />
        </span>
      </td>
    </tr>
  );
}
