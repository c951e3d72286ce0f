import { html } from "htm/preact";
import { useLayoutEffect } from "preact/hooks";
import { Form } from "./form.js";
import { Header } from "./header.js";
import { History } from "./history.js";
import { Icon } from "./icons.js";
import { Result } from "./result.js";
import { Start } from "./start.js";
import { PanelContext, usePanelState } from "./state.js";

/** @import { Channel } from "./channel.js" */

/** @param {{ channel: Channel, root: HTMLElement }} props */
export function Panel({ channel, root }) {
  const panel = usePanelState(channel);
  const { view, run, live } = panel;
  const state = live === "gone" ? "gone" : run.state === "cancelled" ? (run.result ? "done" : "form") : run.state;
  useLayoutEffect(() => {
    Object.assign(root.dataset, { jf: "panel", state, run: String(run.number) });
  }, [state, run.number]);

  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && view?.function) {
      event.preventDefault();
      void panel.tell(panel.submit());
    } else if (event.key === "/" && !(/** @type {HTMLElement} */ (event.target).matches("input, textarea, select"))) {
      event.preventDefault();
      /** @type {HTMLElement | null} */ (root.querySelector('[data-jf="picker"]'))?.click();
    }
  };
  return html`<${PanelContext.Provider} value=${panel}>
    <div class="jf-panel" onKeyDown=${keys}>
      <${Header} />
      <div class="jf-banners">${live === "gone" && html`<${Gone} />`}</div>
      ${!view ? html`<div class="jf-skel" aria-busy="true" aria-label="Loading"><i /><i /><i /></div>` : html`<div class=${`jf-body ${view.function ? "" : "is-empty"}`}>
        ${view.function ? html`<${Form} /><${Result} />` : html`<${Start} />`}
      </div>`}
      ${panel.drawer && html`<${History} close=${() => panel.setDrawer(false)} />`}
      ${panel.toasted && html`<div class="jf-toast" role="status">${panel.toasted}</div>`}
      <div class="jf-off" aria-live="polite">${panel.said}</div>
    </div>
  <//>`;
}

function Gone() {
  return html`<div class="jf-banner is-warn" role="alert" data-jf="kernel-gone">
    <${Icon} name="warn" />
    <div class="jf-btxt"><b>The kernel has stopped.</b> Run the cell again to continue.</div>
  </div>`;
}
