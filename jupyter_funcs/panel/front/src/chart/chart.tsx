import type { ComponentChildren, ComponentProps } from "preact";
import { useRef, useState } from "preact/hooks";
import { count, plural } from "../core/format";
import { Button } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { useSteps } from "../table/useShape";
import { Bars } from "./bars";
import { Choice } from "./choice";
import { type Line, type Range, REST, type Zoom } from "./drawing";
import { Legend } from "./legend";
import { Lines } from "./lines";
import { SavePicture } from "./savepicture";
import { extent } from "./shapes";
import { type Chosen, useChart, useChosen } from "./useChart";

type Change = (more: Partial<Chosen>) => void;

/** The chart of a result, with its choices. */
export function Chart({ result }: { result: P.ResultView }) {
  const { query, live } = usePanel();
  const { chosen, change } = useChosen(result);
  const { shown, trouble } = useChart(result, chosen);
  const [code, showCode] = useState(false);
  if (!shown) return <NoChart trouble={trouble} />;

  const { view, whole } = shown;
  const range = canZoom(view) ? zoomWithin(chosen, whole) : null;
  const isFiltered = query.filters.length > 0 || query.find !== "";
  const wish = (more: P.ChartWish) =>
    change({
      wish: { ...chosen.wish, ...more },
      hidden: "colour" in more ? [] : chosen.hidden,
    });
  return (
    <>
      <div class="jf-sub">
        {view.choices.map((choice) => (
          <Choice
            key={choice.name}
            choice={choice}
            choose={(value: string) => wish({ [choice.name]: value })}
            off={live === "gone"}
          />
        ))}
        <span class="jf-gap" />
        {isFiltered && !view.why && (
          <span class="jf-quiet jf-num">
            {count(view.rows)} of {plural(result.table.rows, "row")}
          </span>
        )}
      </div>
      {view.why ? (
        <NothingToDraw why={view.why} isFiltered={isFiltered} />
      ) : (
        <>
          <Plot view={view} whole={whole} range={range} chosen={chosen} change={change}>
            <PointsTable
              result={result}
              chosen={chosen}
              range={view.x.type === "time" ? range : null}
            />
            <Button
              icon="code"
              aria="Code of this chart"
              data-jf="chart-code"
              aria-expanded={code}
              onClick={() => showCode(!code)}
            />
          </Plot>
          <Notes
            view={view}
            trouble={trouble}
            canDrag={canZoom(view) && !range && whole.x.values.length > 2}
            showAll={chosen.wish.all ? null : () => wish({ all: true })}
          />
          {code && <ChartCode code={view.code} />}
        </>
      )}
    </>
  );
}

/** Panels share their axes, and numbers are all drawn. */
const canZoom = ({ kind, x, panels }: P.ChartView) =>
  kind !== "bar" && x.type !== "number" && !panels.length;

/** The zoom, unless it is one of another result with other times. */
function zoomWithin({ zoom, of }: Chosen, { x }: P.ChartView): Zoom {
  if (!zoom || of !== String(x.labels)) return null;
  const isWithin = zoom[0] < (x.values.at(-1) ?? -Infinity) && zoom[1] > x.values[0];
  return isWithin ? zoom : null;
}

/** What is in the chart's place before it is drawn. */
function NoChart({ trouble }: { trouble: string }) {
  const { live } = usePanel();
  const isWaiting = !trouble && live !== "gone";
  return (
    <div class="jf-blank" data-jf="chart-empty" aria-busy={isWaiting ? "true" : undefined}>
      {trouble && <b>No chart</b>}
      {trouble && <span>{trouble}</span>}
      {isWaiting && <span>Drawing…</span>}
      {!trouble && !isWaiting && <span>The kernel stopped before this chart was drawn.</span>}
    </div>
  );
}

function NothingToDraw({ why, isFiltered }: { why: string; isFiltered: boolean }) {
  const { query, setQuery } = usePanel();
  return (
    <div class="jf-blank" data-jf="chart-empty">
      <b>Nothing to draw</b>
      <span>{why}</span>
      {isFiltered && (
        <Button
          kind="is-line"
          label="Clear filters"
          data-jf="remove-filters"
          onClick={() => setQuery({ ...query, filters: [], find: "" })}
        />
      )}
    </div>
  );
}

type PlotProps = {
  view: P.ChartView;
  whole: P.ChartView;
  range: Zoom;
  chosen: Chosen;
  change: Change;
  /** Buttons beside the title. */
  children: ComponentChildren;
};

/** The title with its buttons, the drawing and the legend. */
function Plot({ view, whole, range, chosen, change, children: buttons }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const [dim, setDim] = useState<string | null>(null);
  const { hidden } = chosen;
  const lines = named(view);
  const isBars = view.kind === "bar";
  const hasLegend = !isBars && lines.length > 1;
  const faded = hidden.includes(dim ?? "") ? null : dim;
  const zoomTo = (zoom: Zoom) => change({ zoom, of: String(whole.x.labels) });
  const resetZoom = () => {
    change({ zoom: null });
    box.current?.querySelector<HTMLElement>(".jf-plot")?.focus();
  };
  return (
    <div class={`jf-plotwrap ${hasLegend ? "" : "is-alone"}`} ref={box}>
      <div class="jf-plottop">
        <b class="jf-cut">{view.title}</b>
        <span class="jf-quiet" data-jf="unit">
          {view.unit}
        </span>
        <span class="jf-gap" />
        {range && (
          <Button
            kind="is-line"
            icon="zoom"
            label="Reset zoom"
            data-jf="zoom-reset"
            onClick={resetZoom}
          />
        )}
        {buttons}
        <SavePicture box={box} view={view} lines={lines} />
      </div>
      {view.panels.length > 0 ? (
        <Panels view={view} hidden={hidden} dim={faded} />
      ) : (
        <Drawing
          view={view}
          whole={whole}
          zoom={range}
          hidden={hidden}
          dim={faded}
          onZoom={canZoom(view) ? zoomTo : undefined}
        />
      )}
      {hasLegend && (
        <Legend
          view={view}
          end={view.x.type === "category" ? lastPlace(range) : undefined}
          lines={lines}
          hidden={hidden}
          setHidden={(names: string[]) => change({ hidden: names })}
          setDim={setDim}
        />
      )}
    </div>
  );
}

/** The lines with colours of their own, each once whatever the number of panels. */
function named({ series }: P.ChartView) {
  const byName = new Map<string, Line>();
  for (const line of series) if (line.colour !== REST) byName.set(line.name, line);
  return [...byName.values()];
}

const Drawing = (props: ComponentProps<typeof Lines>) =>
  props.view.kind === "bar" ? <Bars {...props} /> : <Lines {...props} />;

type PanelsProps = { view: P.ChartView; hidden: string[]; dim: string | null };

/** A small chart for each value of a column, all with the same axes. */
function Panels({ view, hidden, dim }: PanelsProps) {
  const shared = extent(view, hidden);
  return (
    <div class="jf-multiples" data-jf="panels">
      {view.panels.map((panel) => {
        const series = view.series.filter((line) => line.panel === panel);
        const own = { ...view, panels: [], series, title: `${view.title}, ${panel}` };
        return (
          <div key={panel} class={`jf-multiple is-${view.kind}`}>
            <b class="jf-cut" title={panel}>
              {panel}
            </b>
            <Drawing view={own} hidden={hidden} dim={dim} shared={shared} hook={`plot:${panel}`} />
          </div>
        );
      })}
    </div>
  );
}

type PointsTableProps = { result: P.ResultView; chosen: Chosen; range: Zoom };

/** Shows the points of the chart in the table. */
function PointsTable({ result, chosen, range }: PointsTableProps) {
  const { query, seen, showTab, tell, live } = usePanel();
  const { points } = useSteps(result);
  const [low, high] = range ?? [null, null];
  const open = async () => {
    if (seen.steps.at(-1)?.kind !== "points")
      await points({ wish: chosen.wish, low, high, of: { ...query, sort: [] } });
    showTab("table");
  };
  return (
    <Button
      icon="pivot"
      aria="These points as a table"
      data-jf="chart-points-table"
      disabled={live === "gone"}
      onClick={() => void tell(open())}
    />
  );
}

const lastPlace = (range: Range | null) => (range ? range[1] + 1 : undefined);

type NotesProps = {
  view: P.ChartView;
  trouble: string;
  canDrag: boolean;
  showAll: (() => void) | null;
};

/** What is said of the chart below it. */
function Notes({ view, trouble, canDrag, showAll }: NotesProps) {
  const own = named(view).length;
  const drawn = new Set(view.series.map(({ name }) => name)).size;
  const others = drawn - own;
  const all = count(drawn + view.hidden);
  const what = others > 0 ? "coloured" : "drawn";
  return (
    <div class="jf-note-line" data-jf="chart-note">
      {trouble && <span role="alert">{trouble}</span>}
      {view.notes.map((note) => (
        <span key={note}>{note}</span>
      ))}
      {(others > 0 || view.hidden > 0) && (
        <span>{`The ${own} largest of ${all} lines are ${what}.`}</span>
      )}
      {others > 0 && showAll && (
        <button type="button" class="jf-inline" data-jf="show-all-lines" onClick={showAll}>
          {view.hidden ? "Show all" : "Colour all"} {all}
        </button>
      )}
      {canDrag && <span>Drag across the chart to zoom.</span>}
    </div>
  );
}

function ChartCode({ code }: { code: string }) {
  const { copy } = usePanel();
  return (
    <div class="jf-codeline">
      <code tabindex={0} data-jf="chart-code-text">
        {code}
      </code>
      <Button icon="copy" label="Copy" data-jf="copy-chart-code" onClick={() => void copy(code)} />
    </div>
  );
}
