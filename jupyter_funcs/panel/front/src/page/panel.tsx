import { useLayoutEffect } from "preact/hooks";
import type { Channel } from "../core/channel";
import { PanelContext } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { type PanelState, usePanelState } from "../core/usePanelState";
import { Form } from "../form/form";
import { Header } from "../header/header";
import { History } from "../history/history";
import { Result } from "../result/result";
import { Start } from "../start/start";
import { Banners } from "./banners";

/** The whole panel; its root says the state, for tests and whoever drives it. */
export function Panel({ channel, root }: { channel: Channel; root: HTMLElement }) {
  const panel = usePanelState(channel, root);
  const { view, run } = panel;
  const state = panel.live === "gone" ? "gone" : stateOf(run);
  useLayoutEffect(() => {
    Object.assign(root.dataset, { jf: "panel", state, run: String(run.number) });
  }, [state, run.number]);
  return (
    <PanelContext.Provider value={panel}>
      <div
        class={`jf-panel ${panel.stacked ? "is-stacked" : ""}`}
        tabindex={-1}
        onKeyDown={(event) => onKey(event, panel)}
      >
        <Header />
        <div class="jf-banners">
          <Banners />
        </div>
        {view ? <Body isChosen={view.function !== null} /> : <Loading />}
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

function stateOf({ state, result }: P.Run) {
  if (state !== "cancelled") return state;
  return result ? "done" : "form";
}

/** Ctrl+Enter runs, a slash searches, and a bracket folds the inputs. */
function onKey(event: KeyboardEvent, panel: PanelState) {
  const { view, submit, search, stacked, setStacked } = panel;
  const isTyping = (event.target as HTMLElement).matches("input, textarea, select");
  const isControl = event.ctrlKey || event.metaKey;
  if (event.key === "Enter" && isControl && view?.function) void submit();
  else if (event.key === "/" && !isTyping) search();
  else if (event.key === "[" && !isTyping) setStacked(!stacked);
  else return;
  event.preventDefault();
}

function Loading() {
  return (
    <div class="jf-skel" role="status" aria-label="Loading">
      <i />
      <i />
      <i />
    </div>
  );
}

function Body({ isChosen }: { isChosen: boolean }) {
  if (!isChosen) {
    return (
      <div class="jf-body is-empty">
        <Start />
      </div>
    );
  }
  return (
    <div class="jf-body">
      <Form />
      <Result />
    </div>
  );
}
