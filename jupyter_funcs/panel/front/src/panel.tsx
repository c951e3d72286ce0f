import { useLayoutEffect } from "preact/hooks";
import type { Channel } from "./core/channel";
import { Button, Icon } from "./core/icons";
import { PanelContext, usePanel, usePanelState } from "./core/state";
import { Form } from "./form/form";
import { Header } from "./header/header";
import { History } from "./history/history";
import { Result } from "./result/result";
import { Start } from "./start";

export function Panel({ channel, root }: { channel: Channel; root: HTMLElement }) {
  const panel = usePanelState(channel, root);
  const { view, run, live } = panel;
  const state =
    live === "gone"
      ? "gone"
      : run.state === "cancelled"
        ? run.result
          ? "done"
          : "form"
        : run.state;
  useLayoutEffect(
    () => void Object.assign(root.dataset, { jf: "panel", state, run: String(run.number) }),
    [state, run.number],
  );

  const keys = (event: KeyboardEvent) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && view?.function) {
      event.preventDefault();
      void panel.submit();
    } else if (
      event.key === "/" &&
      !(event.target as HTMLElement).matches("input, textarea, select")
    ) {
      event.preventDefault();
      panel.search();
    }
  };
  return (
    <PanelContext.Provider value={panel}>
      <div class={`jf-panel ${panel.stacked ? "is-stacked" : ""}`} tabindex={-1} onKeyDown={keys}>
        <Header />
        <div class="jf-banners">
          <Banners />
        </div>
        {!view ? (
          <div class="jf-skel" role="status" aria-label="Loading">
            <i />
            <i />
            <i />
          </div>
        ) : (
          <div class={`jf-body ${view.function ? "" : "is-empty"}`}>
            {view.function ? (
              <>
                <Form />
                <Result />
              </>
            ) : (
              <Start />
            )}
          </div>
        )}
        {panel.drawer && <History close={() => panel.setDrawer(false)} />}
        {panel.toasted && (
          <div class="jf-toast" role="status">
            {panel.toasted}
          </div>
        )}
        <div class="jf-off" aria-live="polite">
          {panel.said}
        </div>
      </div>
    </PanelContext.Provider>
  );
}

/** What concerns the panel as a whole: a kernel that is gone, a service without a catalog, a question before a run. */
function Banners() {
  const { live, view, asks, forget, submit, ask, tell, toast } = usePanel();
  const trouble = view?.service.trouble ?? [];
  if (live === "gone") {
    return (
      <div class="jf-banner is-warn" role="alert" data-jf="kernel-gone">
        <Icon name="warn" />
        <div class="jf-btxt">
          <b>The kernel has stopped.</b> Run the cell again to continue.
        </div>
      </div>
    );
  }
  return (
    <>
      {trouble.length > 0 && (
        <div class="jf-banner is-bad" role="alert" data-jf="trouble">
          <Icon name="err" />
          <div class="jf-btxt">
            <b>{trouble[0]}</b>
            {trouble.slice(1).map((line) => (
              <p>{line}</p>
            ))}
          </div>
          <div class="jf-bact">
            <Button
              kind="is-line"
              label="Try again"
              data-jf="trouble-retry"
              onClick={() => void tell(ask("refresh", {}).then(({ said }) => toast(said)))}
            />
          </div>
        </div>
      )}
      {asks && (
        <div class="jf-banner is-warn" role="alert" data-jf="asks">
          <Icon name="warn" />
          <div class="jf-btxt">{asks}</div>
          <div class="jf-bact">
            <Button
              kind="is-line"
              label="Run"
              data-jf="asks-run"
              onClick={() => void submit(true)}
            />
            <Button label="Cancel" data-jf="asks-cancel" onClick={forget} />
          </div>
        </div>
      )}
    </>
  );
}
