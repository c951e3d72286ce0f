import { useRef } from "preact/hooks";
import { Chart } from "../chart/chart";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useUniqueId } from "../core/useUniqueId";
import { Grid } from "../table/grid";
import { useShape } from "../table/useShape";
import { Code } from "./code";
import { File } from "./file";
import { JsonTree } from "./jsontree";
import { ResultBar } from "./resultbar";
import { tabLabel } from "./tabs";
import { Warnings } from "./warnings";

/**
 * A result: its bar, its warnings and the chosen view. The table stays while another view is shown.
 */
export function Shown({ result }: { result: P.ResultView }) {
  const { run, tab } = usePanel();
  const id = useUniqueId();
  const hadTable = useRef(false);
  const shape = useShape(result);
  hadTable.current ||= tab === "table";
  return (
    <>
      <ResultBar result={result} id={id} />
      {run.warnings.length > 0 && (
        <Warnings lines={run.warnings} more={run.more} key={result.number} />
      )}
      <div
        class={`jf-view ${run.running ? "jf-stale" : ""}`}
        id={id}
        role="tabpanel"
        aria-disabled={run.running ? "true" : undefined}
        aria-label={tabLabel(tab, result)}
        data-jf="view"
      >
        {result.file && tab === "table" && <File run={result.number} file={result.file} />}
        {shape && hadTable.current && !result.file && (
          <div class="jf-view" hidden={tab !== "table"} key={shape.key}>
            <Grid result={{ ...result, table: shape.table }} pivot={shape.pivot} />
          </div>
        )}
        {shape && tab === "chart" && <Chart result={{ ...result, table: shape.table }} />}
        {tab === "json" && <Json result={result} />}
        {tab === "code" && <Code result={result} />}
      </div>
    </>
  );
}

function Json({ result }: { result: P.ResultView }) {
  if (!result.noJson) return <JsonTree result={result} key={result.number} />;
  return (
    <div class="jf-blank" data-jf="json-empty">
      <b>Nothing to show</b>
      <span>{result.noJson}</span>
    </div>
  );
}
