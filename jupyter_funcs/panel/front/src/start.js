import { html } from "htm/preact";

export function Start() {
  return html`<div class="jf-start" data-jf="start"></div>`;
}
