import { Opener } from "../core/opener";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { Save } from "./save";
import { Tabs } from "./tabs";
import { Variable } from "./variable";

/** The line above a result: its views, its size, its variable and Save. */
export function ResultBar({ result, id }: { result: P.ResultView; id: string }) {
  const { values, live, view } = usePanel();
  const off = live === "gone";
  const hasVariable = result.variable || result.lost;
  return (
    <div class="jf-bar">
      <Tabs id={id} result={result} />
      <div class="jf-bar-right">
        {values?.changed && (
          <span
            class="jf-badge jf-changed"
            data-jf="changed"
            title="The inputs differ from those of this result."
          >
            <span class="jf-wide-only">inputs </span>changed
          </span>
        )}
        <span class="jf-stat jf-num" data-jf="summary" title={result.summary}>
          {result.summary}
        </span>
        {hasVariable && <Variable result={result} off={off || !view?.trusted} />}
        <Opener
          data-jf="save"
          icon="save"
          kind="is-line"
          label="Save"
          chev
          opens="menu"
          disabled={off}
          draw={(anchor, close) => <Save result={result} anchor={anchor} close={close} />}
        />
      </div>
    </div>
  );
}
