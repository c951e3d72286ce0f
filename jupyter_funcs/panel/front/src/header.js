import { html } from "htm/preact";

export function Header() {
  return html`<header class="jf-head"></header>`;
}
