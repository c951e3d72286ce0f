import { html } from "htm/preact";
import { useLayoutEffect } from "preact/hooks";
import { Form } from "./form.js";
import { Header } from "./header.js";
import { History } from "./history.js";
import { Button, Icon } from "./icons.js";
import { Result } from "./result.js";
import { Start } from "./start.js";
import { PanelContext, usePanel, usePanelState } from "./state.js";

/** @import { Channel } from "./channel.js" */

/** @param {{ channel: Channel, root: HTMLElement }} props */
export function Panel({ channel, root }) {
  const panel = usePanelState(channel, root);
  const { view, run, live } = panel;
  const state = live === "gone" ? "gone" : run.state === "cancelled" ? (run.result ? "done" : "form") : run.state;
  useLayoutEffect(() => void Object.assign(root.dataset, { jf: "panel", state, run: String(run.number) }), [state, run.number]);

  const keys = (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && view?.function) {
      event.preventDefault();
      void panel.submit();
    } else if (event.key === "/" && !(/** @type {HTMLElement} */ (event.target).matches("input, textarea, select"))) {
      event.preventDefault();
      panel.search();
    }
  };
  return html`<${PanelContext.Provider} value=${panel}>
    <div class=${`jf-panel ${panel.stacked ? "is-stacked" : ""}`} tabindex="-1" onKeyDown=${keys}>
      <${Header} />
      <div class="jf-banners"><${Banners} /></div>
      ${!view ? html`<div class="jf-skel" role="status" aria-label="Loading"><i /><i /><i /></div>` : html`<div class=${`jf-body ${view.function ? "" : "is-empty"}`}>
        ${view.function ? html`<${Form} /><${Result} />` : html`<${Start} />`}
      </div>`}
      ${panel.drawer && html`<${History} close=${() => panel.setDrawer(false)} />`}
      ${panel.toasted && html`<div class="jf-toast" role="status">${panel.toasted}</div>`}
      <div class="jf-off" aria-live="polite">${panel.said}</div>
    </div>
  <//>`;
}

/** What concerns the panel as a whole: a kernel that is gone, a service without a catalog, a question before a run. */
function Banners() {
  const { live, view, asks, forget, submit, ask, tell, toast } = usePanel();
  const trouble = view?.service.trouble ?? [];
  if (live === "gone") {
    return html`<div class="jf-banner is-warn" role="alert" data-jf="kernel-gone"><${Icon} name="warn" />
      <div class="jf-btxt"><b>The kernel has stopped.</b> Run the cell again to continue.</div></div>`;
  }
  return html`${trouble.length > 0 && html`<div class="jf-banner is-bad" role="alert" data-jf="trouble"><${Icon} name="err" />
      <div class="jf-btxt"><b>${trouble[0]}</b>${trouble.slice(1).map((line) => html`<p>${line}</p>`)}</div>
      <div class="jf-bact"><${Button} kind="is-line" label="Try again" data-jf="trouble-retry" onClick=${() => void tell(ask("refresh", {}).then(({ said }) => toast(said)))} /></div></div>`}
    ${asks && html`<div class="jf-banner is-warn" role="alert" data-jf="asks"><${Icon} name="warn" />
      <div class="jf-btxt">${asks}</div>
      <div class="jf-bact"><${Button} kind="is-line" label="Run" data-jf="asks-run" onClick=${() => void submit(true)} /><${Button} label="Cancel" data-jf="asks-cancel" onClick=${forget} /></div></div>`}`;
}
