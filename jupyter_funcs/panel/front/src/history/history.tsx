import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Compare } from "./compare.js";
import { count } from "./format.js";
import { Button } from "./icons.js";
import { usePanel, useReply } from "./state.js";

/** @import * as P from "./protocol.js" */

/** The runs of this kernel in a drawer over the result, and two of them compared. @param {{ close: () => void }} props */
export function History({ close }) {
  const { ask, tell, toast, run, live } = usePanel();
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const [reply, trouble] = useReply("history", {}, [run.number, run.state, run.ran]);
  const rows = reply?.rows ?? null;
  const [ticked, setTicked] = useState(/** @type {P.RunNumber[]} */ ([]));
  const [pair, setPair] = useState(/** @type {{ before: P.RunNumber, after: P.RunNumber, again: boolean } | null} */ (null));
  const [leaving, setLeaving] = useState(false);

  useLayoutEffect(() => {
    const panel = box.current?.closest(".jf-panel");
    return () => /** @type {HTMLElement | null | undefined} */ (panel?.querySelector('[data-jf="history"]'))?.focus({ preventScroll: true });
  }, []);
  // The first thing that can be used has the focus, also after another view.
  useLayoutEffect(() => {
    /** @type {HTMLElement | null | undefined} */ (box.current?.querySelector(pair ? '[data-jf="compare-back"]' : "input:checked, input, button"))?.focus({ preventScroll: true });
  }, [pair === null, rows === null]);

  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape" && !event.defaultPrevented) {
      event.preventDefault();
      event.stopPropagation();
      if (pair) setPair(null);
      else close();
    }
    if (event.key !== "Tab" || !box.current) return;
    const stops = /** @type {HTMLElement[]} */ ([...box.current.querySelectorAll('button:not(:disabled), input:not(:disabled), [tabindex="0"]')]);
    const end = event.shiftKey ? stops[0] : stops.at(-1);
    if (event.target !== end && event.target !== box.current) return;
    event.preventDefault();
    (event.shiftKey ? stops.at(-1) : stops[0])?.focus();
  };
  const leave = (/** @type {Promise<unknown>} */ reply) => {
    setLeaving(true);
    void tell(reply.then(close).finally(() => setLeaving(false)));
  };
  const tick = (/** @type {P.RunNumber} */ number) => setTicked(ticked.includes(number) ? ticked.filter((each) => each !== number) : [...ticked.slice(-1), number]);
  const off = live === "gone" || leaving;
  const chosen = (rows ?? []).filter((row) => ticked.includes(row.number));
  const lost = chosen.some((row) => !row.held);
  const start = () => {
    if (chosen.length !== 2) return toast("Tick two runs to compare.");
    const [after, before] = chosen.map((row) => row.number); // the newest is first
    setPair({ before, after, again: lost });
  };

  const head = html`<div class="jf-dhead"><h2>History</h2><span class="jf-quiet jf-wide-only">of this kernel${rows?.some(({ number }) => typeof number === "string") && " and earlier ones"}</span><span class="jf-gap" />
    ${chosen.length !== 2 && html`<span class="jf-quiet jf-wide-only">Tick two runs to compare</span>`}
    <${Button} icon="compare" kind="is-line" label=${lost && chosen.length === 2 ? "Run again and compare" : `Compare${chosen.length ? ` (${chosen.length})` : ""}`} data-jf="compare"
      aria-disabled=${chosen.length === 2 && !off ? undefined : "true"} onClick=${() => off || start()} />
    <${Button} icon="x" aria="Close history" data-jf="history-close" onClick=${close} /></div>`;
  const again = (/** @type {P.HistoryRow} */ row) => leave(ask("again", { number: row.number }));
  const open = (/** @type {P.HistoryRow} */ row) => leave(ask("open", { number: row.number }));
  return html`<div class="jf-scrim" onClick=${close} />
    <section class="jf-drawer" ref=${box} role="dialog" aria-modal="true" aria-label=${pair ? "Compare two runs" : "History"} tabindex="-1" data-jf="drawer" onKeyDown=${keys}>
      ${pair
        ? html`<${Compare} ...${pair} back=${() => setPair(null)} swap=${() => setPair({ ...pair, before: pair.after, after: pair.before, again: false })} close=${close} />`
        : html`${head}<div class="jf-scroll" tabindex="0" role="region" aria-label="Runs">
            ${trouble ? html`<p class="jf-quiet jf-cmp" role="alert">${trouble}</p>` : rows === null ? html`<p class="jf-quiet jf-cmp" aria-busy="true">Reading the history…</p>` : rows.length === 0 ? html`<p class="jf-quiet jf-cmp">Nothing has been run yet.</p>` : html`<table class="jf-hist">
              <thead><tr><th scope="col"><span class="jf-off">Compare</span></th><th scope="col">Time</th><th scope="col">Function</th><th scope="col" class="is-args">Arguments that differ</th><th scope="col" class="is-r">Rows</th>
                <th scope="col" class="is-r is-opt">Time taken</th><th scope="col" class="is-opt">Variable</th><th scope="col"><span class="jf-off">Actions</span></th></tr></thead>
              <tbody>${rows.map((row) => html`<${Row} key=${row.number} row=${row} ticked=${ticked.includes(row.number)} tick=${tick} again=${again} open=${open} off=${off} />`)}</tbody></table>`}</div>`}
    </section>`;
}

/** @param {{ row: P.HistoryRow, ticked: boolean, tick: (number: P.RunNumber) => void, again: (row: P.HistoryRow) => void, open: (row: P.HistoryRow) => void, off: boolean }} props */
function Row({ row, ticked, tick, again, open, off }) {
  const { number, differs, rows, seconds, status, error } = row;
  return html`<tr aria-selected=${String(ticked)} data-jf=${`run:${number}`}>
    <td>${status === "done" && html`<label class="jf-cbox"><input type="checkbox" checked=${ticked} aria-label=${`Compare run ${number}`} data-jf=${`tick:${number}`} onChange=${() => tick(number)} /></label>`}</td>
    <td class="jf-num jf-quiet">${row.time}</td><td>${row.function}</td>
    <td class="is-args">${differs.length ? differs.map((each) => html`<span class="jf-arg" key=${each.name}>${each.name} <b>${each.value}</b></span>`) : html`<span class="jf-quiet">none</span>`}</td>
    <td class="is-r">${status === "done" ? html`${rows === null ? "" : count(rows)}${error && html`<span class="jf-state-part" title=${error}> part</span>`}` : html`<span class=${status === "failed" ? "jf-state-bad" : "jf-quiet"} title=${error || undefined}>${status}</span>`}</td>
    <td class="is-r is-opt jf-quiet">${seconds === null ? "" : `${seconds.toFixed(2)} s`}</td><td class="is-opt jf-mono">${row.variable || "–"}</td>
    <td><span class="jf-acts"><${Button} icon="refresh" aria=${`Run ${number} again`} data-jf=${`again:${number}`} disabled=${off} onClick=${() => again(row)} />
      <${Button} icon="open" aria=${`Open run ${number}`} data-jf=${`open:${number}`} disabled=${off || status !== "done"} onClick=${() => open(row)} /></span></td></tr>`;
}
