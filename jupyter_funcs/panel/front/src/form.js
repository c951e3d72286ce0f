import { html } from "htm/preact";
import { usePanel } from "./state.js";

/** The inputs pane; folded to one line in narrow panels. */
export function Form() {
  const { folded } = usePanel();
  return html`<section class=${`jf-form ${folded ? "is-folded" : ""}`} aria-label="Inputs" data-jf="inputs"></section>`;
}
