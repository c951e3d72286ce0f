import { html } from "htm/preact";

/** @import * as P from "./protocol.js" */

/** @param {{ result: P.ResultView }} props */
export function JsonTree({ result }) {
  return html`<div class="jf-scroll" data-jf="json">${result.summary}</div>`;
}
