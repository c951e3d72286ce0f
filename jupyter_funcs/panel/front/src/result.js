import { html } from "htm/preact";
import { Chart } from "./chart.js";
import { Code } from "./code.js";
import { Grid } from "./grid.js";
import { JsonTree } from "./jsontree.js";
import { usePanel } from "./state.js";

const PARTS = { table: Grid, chart: Chart, json: JsonTree, code: Code };

export function Result() {
  const { run, tab } = usePanel();
  return html`<section class=${`jf-result ${run.result ? "" : "is-blank"}`} aria-label="Result" data-jf="result">
    ${run.result && html`<div class="jf-view" data-jf="view"><${PARTS[tab]} result=${run.result} /></div>`}
  </section>`;
}
