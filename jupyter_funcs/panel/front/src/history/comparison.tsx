import { Lines } from "../chart/lines";
import { Swatch } from "../chart/swatch";
import { count } from "../core/format";
import { Button } from "../core/icons";
import type * as P from "../core/protocol";
import { ArgumentChanges } from "./argumentchanges";
import { RowChanges } from "./rowchanges";
import { Sums } from "./sums";

type Props = { view: P.CompareView; more: () => void; again: () => void };

/** What differs between two runs: arguments, sums, lines and rows. */
export function Comparison({ view, more, again }: Props) {
  return (
    <>
      <ArgumentChanges view={view} />
      {view.gone.length > 0 ? (
        <p>
          {view.said}{" "}
          <Button
            kind="is-line"
            icon="refresh"
            label="Run again and compare"
            data-jf="compare-again"
            onClick={again}
          />
        </p>
      ) : (
        <>
          <Overview view={view} />
          <div data-jf="compare-said">
            <h3>Rows that differ</h3>
            <p class="jf-quiet jf-small">{view.said}</p>
            {view.rows.length > 0 && <RowChanges view={view} />}
            {view.rows.length < view.total && (
              <button type="button" class="jf-inline" data-jf="compare-more" onClick={more}>
                Show more of {count(view.total)}
              </button>
            )}
          </div>
        </>
      )}
    </>
  );
}

/** The sums and the chart, side by side if there are both. */
function Overview({ view }: { view: P.CompareView }) {
  const { totals, chart } = view;
  if (!totals && !chart) return null;
  return (
    <div class={totals && chart ? "jf-cmp-two" : ""}>
      {totals && <Sums totals={totals} view={view} />}
      {chart && <Overlay chart={chart} />}
    </div>
  );
}

/** Both runs in one chart. */
const Overlay = ({ chart }: { chart: P.ChartView }) => (
  <div>
    <h3>
      {chart.title}
      {chart.unit && `, ${chart.unit}`}
    </h3>
    <p class="jf-cmp-key jf-quiet">
      {chart.series.map(({ name, colour }) => (
        <span key={name}>
          <Swatch colour={colour} />
          {name}
        </span>
      ))}
    </p>
    <div class="jf-overlay">
      <Lines view={chart} hook="compare-chart" />
    </div>
    <div class="jf-quiet">{chart.notes.join(" ")}</div>
  </div>
);
