import { html } from "htm/preact";

export function Code() {
  return html`<div class="jf-scroll" data-jf="code"></div>`;
}
