import { html } from "htm/preact";

/** @param {{ close: () => void }} props */
export function History({ close }) {
  return html`<div class="jf-drawer" data-jf="drawer"><button type="button" data-jf="history-close" onClick=${close}>Close</button></div>`;
}
