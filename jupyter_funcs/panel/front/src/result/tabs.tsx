import { arrows } from "../core/arrows";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";

const TAB_LABELS: Record<P.Tab, string> = {
  table: "Table",
  chart: "Chart",
  json: "JSON",
  code: "Code",
};
/** A file has no table. */
export const tabLabel = (tab: P.Tab, { file }: P.ResultView) =>
  file && tab === "table" ? "File" : TAB_LABELS[tab];
const TABS = Object.keys(TAB_LABELS) as P.Tab[];

/** The views of a result; `id` is that of the element that shows them. */
export function Tabs({ id, result }: { id: string; result: P.ResultView }) {
  const { tab, showTab } = usePanel();
  const keys = (event: KeyboardEvent) => {
    if (/Up|Down/.test(event.key)) return;
    arrows(event, TABS.indexOf(tab), TABS.length, (at) => showTab(TABS[at]));
  };
  return (
    <div class="jf-tabs" role="tablist" aria-label="Result" onKeyDown={keys}>
      {TABS.map((name) => (
        <button
          type="button"
          role="tab"
          key={name}
          data-jf={`tab:${name}`}
          aria-selected={tab === name}
          aria-controls={id}
          tabindex={tab === name ? 0 : -1}
          onClick={() => showTab(name)}
        >
          <span data-t={tabLabel(name, result)}>{tabLabel(name, result)}</span>
        </button>
      ))}
    </div>
  );
}
