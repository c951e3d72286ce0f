import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Lines } from "./chart.js";
import { count } from "./format.js";
import { Button } from "./icons.js";
import { valueText } from "./scales.js";
import { usePanel } from "./state.js";

/** @import * as P from "./protocol.js" */
/** @typedef {NonNullable<P.CompareView["totals"]>} Totals */

const NUMBERS = new Set(["money", "count", "number", "percent"]);
/** A run again, and the join of two large results, may take long. */
const PATIENCE = 600_000;

/** @param {{ before: P.RunNumber, after: P.RunNumber, again: boolean, back: () => void, swap: () => void, close: () => void }} props */
export function Compare({ before, after, again, back, swap, close }) {
  const { ask, copy, tell, live } = usePanel();
  const [view, setView] = useState(/** @type {P.CompareView | null} */ (null));
  const [trouble, setTrouble] = useState("");
  const [run, setRun] = useState(again);
  useEffect(() => {
    if (live === "gone") return undefined;
    let current = true;
    setTrouble("");
    setView(null);
    ask("compare", { before, after, from: 0, again: run }, PATIENCE).then((reply) => current && setView(reply), (error) => current && setTrouble(error.message));
    return () => void (current = false);
  }, [before, after, run]);
  const more = () => {
    const from = view?.rows.length ?? 0;
    void tell(ask("compare", { before, after, from, again: false }, PATIENCE).then(({ rows }) => setView((old) => old && { ...old, rows: [...old.rows.slice(0, from), ...rows] })));
  };
  const about = view && `run ${view.before.number}, ${view.before.time}, with run ${view.after.number}, ${view.after.time} · ${view.before.function}${view.after.function === view.before.function ? "" : ` and ${view.after.function}`}`;
  return html`<div class="jf-dhead"><${Button} icon="back" aria="Back to history" data-jf="compare-back" onClick=${back} /><h2>Compare</h2>
      <span class="jf-quiet jf-cut jf-wide-only">${about}</span><span class="jf-gap" />
      <${Button} icon="compare" label="Swap" data-jf="compare-swap" disabled=${!view} onClick=${swap} />
      <${Button} icon="code" kind="jf-wide-only" label="Copy code" data-jf="compare-code" disabled=${!view} onClick=${() => view && void copy(view.code)} />
      <${Button} icon="x" aria="Close" data-jf="history-close" onClick=${close} /></div>
    <div class="jf-scroll" tabindex="0" role="region" aria-label="Comparison"><div class="jf-cmp">
      ${trouble ? html`<p class="jf-err" role="alert">${trouble}</p>` : !view ? html`<p class="jf-quiet" aria-busy="true">${run ? "Running again and comparing…" : "Comparing…"}</p>` : html`<${Arguments} view=${view} />
        ${view.gone.length > 0 ? html`<p>${view.said} <${Button} kind="is-line" icon="refresh" label="Run again and compare" data-jf="compare-again" onClick=${() => setRun(true)} /></p>` : html`
          ${(view.totals || view.chart) && html`<div class=${view.totals && view.chart ? "jf-cmp-two" : ""}>
            ${view.totals && html`<${Sums} totals=${view.totals} />`}
            ${view.chart && html`<div><h3>${view.chart.title}${view.chart.unit && `, ${view.chart.unit}`}</h3>
              <p class="jf-cmp-key jf-quiet"><span><i class="jf-swatch is-dash" />Before</span><span class="is-after"><i class="jf-swatch" />After</span></p>
              <div class="jf-overlay"><${Lines} view=${view.chart} hook="compare-chart" /></div></div>`}</div>`}
          <div data-jf="compare-said"><h3>Rows that differ</h3><p class="jf-quiet jf-small">${view.said}</p>
            ${view.rows.length > 0 && html`<${Changes} view=${view} />`}
            ${view.rows.length < view.total && html`<button type="button" class="jf-inline" data-jf="compare-more" onClick=${more}>Show more of ${count(view.total)}</button>`}</div>`}`}
    </div></div>`;
}

/** @param {{ view: P.CompareView }} props */
const Arguments = ({ view }) => html`<div><h3>Arguments that differ</h3><div class="jf-cmp-args" data-jf="compare-args">
  ${view.args.map(({ name, before, after }) => html`<span class="jf-quiet" key=${name}>${name}</span><span class="jf-chip is-plain"><span>${before || "none"}</span></span><span class="jf-quiet" role="img" aria-label="became">→</span>
    <span><span class="jf-chip is-plain is-after"><span>${after || "none"}</span></span></span>`)}
  ${view.args.length === 0 && html`<span class="jf-quiet is-all">None.</span>`}${view.same && html`<span class="jf-quiet is-all">The same in both: ${view.same}</span>`}</div></div>`;

/** "+1,200" and "−8.5%". @param {number} value @param {string} format */
const signed = (value, format) => (value > 0 && format !== "percent" ? "+" : "") + valueText(value, format, true);

/** Before and after of each category. @param {{ totals: Totals }} props */
function Sums({ totals }) {
  const { title, unit, format, adds, rows } = totals;
  const by = title.split(" by ").at(-1) ?? "";
  const line = (/** @type {string} */ name, /** @type {number | null} */ before, /** @type {number | null} */ after, foot = false) => {
    const delta = before === null || after === null ? null : after - before;
    const part = delta === null || !before ? null : delta / Math.abs(before);
    return html`<tr key=${name}>${foot ? html`<th scope="row">${name}</th>` : html`<td>${name}</td>`}<td class="is-r">${valueText(before, format)}</td><td class="is-r">${valueText(after, format)}</td>
      <td class="is-r">${delta === null ? "" : signed(delta, format)}</td><td class=${`is-r ${part === null || part === 0 ? "" : part > 0 ? "jf-up" : "jf-down"}`}>${part === null ? "" : signed(part, "percent")}</td></tr>`;
  };
  const sum = (/** @type {1 | 2} */ at) => rows.reduce((total, row) => total + (row[at] ?? 0), 0);
  return html`<div><h3>${title}${unit && `, ${unit}`}</h3><div class="jf-scrollx" tabindex="0" role="region" aria-label=${title}><table class="jf-cmptab" data-jf="compare-table">
    <thead><tr><th scope="col">${by.charAt(0).toUpperCase() + by.slice(1)}</th>${["Before", "After", "Change", "%"].map((name) => html`<th scope="col" class="is-r" key=${name}>${name}</th>`)}</tr></thead>
    <tbody>${rows.map(([name, before, after]) => line(name, before, after))}</tbody>${adds && rows.length > 1 && html`<tfoot>${line("Sum", sum(1), sum(2), true)}</tfoot>`}</table></div></div>`;
}

/** The joined rows. @param {{ view: P.CompareView }} props */
const Changes = ({ view }) => html`<div class="jf-scrollx" tabindex="0" role="region" aria-label="Rows that differ"><table class="jf-cmptab" data-jf="compare-rows">
  <thead><tr>${view.columns.map(({ name, type }, at) => html`<th scope="col" key=${at} class=${NUMBERS.has(type) ? "is-r" : undefined}>${name}</th>`)}</tr></thead>
  <tbody>${view.rows.map((row, place) => html`<tr key=${place}>${row.map((text, at) => html`<td key=${at} class=${NUMBERS.has(view.columns[at]?.type) ? "is-r" : undefined}>${text}</td>`)}</tr>`)}</tbody></table></div>`;
