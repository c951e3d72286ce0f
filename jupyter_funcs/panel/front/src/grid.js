import { html } from "htm/preact";

/** @import * as P from "./protocol.js" */

/** @param {{ result: P.ResultView }} props */
export function Grid({ result }) {
  return html`<div class="jf-scroll" data-jf="grid">${result.summary}</div>`;
}
