import { useEffect, useState } from "preact/hooks";
import { Lines } from "../chart/chart";
import { valueText } from "../chart/scales";
import { count } from "../core/format";
import { Button } from "../core/icons";
import type * as P from "../core/protocol";
import { usePanel } from "../core/state";
export type Totals = NonNullable<P.CompareView["totals"]>;

const NUMBERS = new Set(["money", "count", "number", "percent"]);
/** A run again, and the join of two large results, may take long. */
const PATIENCE = 600_000;

export function Compare({
  before,
  after,
  again,
  back,
  swap,
  close,
}: {
  before: P.RunNumber;
  after: P.RunNumber;
  again: boolean;
  back: () => void;
  swap: () => void;
  close: () => void;
}) {
  const { ask, copy, tell, live } = usePanel();
  const [view, setView] = useState<P.CompareView | null>(null);
  const [trouble, setTrouble] = useState("");
  const [run, setRun] = useState(again);
  useEffect(() => {
    if (live === "gone") return undefined;
    let current = true;
    setTrouble("");
    setView(null);
    ask("compare", { before, after, from: 0, again: run }, PATIENCE).then(
      (reply) => current && setView(reply),
      (error) => current && setTrouble(error.message),
    );
    return () => void (current = false);
  }, [before, after, run]);
  const more = () => {
    const from = view?.rows.length ?? 0;
    void tell(
      ask("compare", { before, after, from, again: false }, PATIENCE).then(({ rows }) =>
        setView((old) => old && { ...old, rows: [...old.rows.slice(0, from), ...rows] }),
      ),
    );
  };
  const about =
    view &&
    `run ${view.before.number}, ${view.before.time}, with run ${view.after.number}, ${view.after.time} · ${view.before.function}${view.after.function === view.before.function ? "" : ` and ${view.after.function}`}`;
  return (
    <>
      <div class="jf-dhead">
        <Button icon="back" aria="Back to history" data-jf="compare-back" onClick={back} />
        <h2>Compare</h2>
        <span class="jf-quiet jf-cut jf-wide-only">{about}</span>
        <span class="jf-gap" />
        <Button
          icon="compare"
          label="Swap"
          data-jf="compare-swap"
          disabled={!view}
          onClick={swap}
        />
        <Button
          icon="code"
          kind="jf-wide-only"
          label="Copy code"
          data-jf="compare-code"
          disabled={!view}
          onClick={() => view && void copy(view.code)}
        />
        <Button icon="x" aria="Close" data-jf="history-close" onClick={close} />
      </div>
      <div class="jf-scroll" tabindex={0} role="region" aria-label="Comparison">
        <div class="jf-cmp">
          {trouble ? (
            <p class="jf-err" role="alert">
              {trouble}
            </p>
          ) : !view ? (
            <p class="jf-quiet" aria-busy="true">
              {run ? "Running again and comparing…" : "Comparing…"}
            </p>
          ) : (
            <>
              <Arguments view={view} />
              {view.gone.length > 0 ? (
                <p>
                  {view.said}{" "}
                  <Button
                    kind="is-line"
                    icon="refresh"
                    label="Run again and compare"
                    data-jf="compare-again"
                    onClick={() => setRun(true)}
                  />
                </p>
              ) : (
                <>
                  {(view.totals || view.chart) && (
                    <div class={view.totals && view.chart ? "jf-cmp-two" : ""}>
                      {view.totals && <Sums totals={view.totals} />}
                      {view.chart && (
                        <div>
                          <h3>
                            {view.chart.title}
                            {view.chart.unit && `, ${view.chart.unit}`}
                          </h3>
                          <p class="jf-cmp-key jf-quiet">
                            <span>
                              <i class="jf-swatch is-dash" />
                              Before
                            </span>
                            <span class="is-after">
                              <i class="jf-swatch" />
                              After
                            </span>
                          </p>
                          <div class="jf-overlay">
                            <Lines view={view.chart} hook="compare-chart" />
                          </div>
                        </div>
                      )}
                    </div>
                  )}
                  <div data-jf="compare-said">
                    <h3>Rows that differ</h3>
                    <p class="jf-quiet jf-small">{view.said}</p>
                    {view.rows.length > 0 && <Changes view={view} />}
                    {view.rows.length < view.total && (
                      <button type="button" class="jf-inline" data-jf="compare-more" onClick={more}>
                        Show more of {count(view.total)}
                      </button>
                    )}
                  </div>
                </>
              )}
            </>
          )}
        </div>
      </div>
    </>
  );
}

const Arguments = ({ view }: { view: P.CompareView }) => (
  <div>
    <h3>Arguments that differ</h3>
    <div class="jf-cmp-args" data-jf="compare-args">
      {view.args.map(({ name, before, after }) => (
        <>
          <span class="jf-quiet" key={name}>
            {name}
          </span>
          <span class="jf-chip is-plain">
            <span>{before || "none"}</span>
          </span>
          <span class="jf-quiet" role="img" aria-label="became">
            →
          </span>
          <span>
            <span class="jf-chip is-plain is-after">
              <span>{after || "none"}</span>
            </span>
          </span>
        </>
      ))}
      {view.args.length === 0 && <span class="jf-quiet is-all">None.</span>}
      {view.same && <span class="jf-quiet is-all">The same in both: {view.same}</span>}
    </div>
  </div>
);

/** "+1,200" and "−8.5%". */
const signed = (value: number, format: string) =>
  (value > 0 && format !== "percent" ? "+" : "") + valueText(value, format, true);

/** Before and after of each category. */
function Sums({ totals }: { totals: Totals }) {
  const { title, unit, format, adds, rows } = totals;
  const by = title.split(" by ").at(-1) ?? "";
  const line = (name: string, before: number | null, after: number | null, foot = false) => {
    const delta = before === null || after === null ? null : after - before;
    const part = delta === null || !before ? null : delta / Math.abs(before);
    return (
      <tr key={name}>
        {foot ? <th scope="row">{name}</th> : <td>{name}</td>}
        <td class="is-r">{valueText(before, format)}</td>
        <td class="is-r">{valueText(after, format)}</td>
        <td class="is-r">{delta === null ? "" : signed(delta, format)}</td>
        <td class={`is-r ${part === null || part === 0 ? "" : part > 0 ? "jf-up" : "jf-down"}`}>
          {part === null ? "" : signed(part, "percent")}
        </td>
      </tr>
    );
  };
  const sum = (at: 1 | 2) => rows.reduce((total, row) => total + (row[at] ?? 0), 0);
  return (
    <div>
      <h3>
        {title}
        {unit && `, ${unit}`}
      </h3>
      <div class="jf-scrollx" tabindex={0} role="region" aria-label={title}>
        <table class="jf-cmptab" data-jf="compare-table">
          <thead>
            <tr>
              <th scope="col">{by.charAt(0).toUpperCase() + by.slice(1)}</th>
              {["Before", "After", "Change", "%"].map((name) => (
                <th scope="col" class="is-r" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{rows.map(([name, before, after]) => line(name, before, after))}</tbody>
          {adds && rows.length > 1 && <tfoot>{line("Sum", sum(1), sum(2), true)}</tfoot>}
        </table>
      </div>
    </div>
  );
}

/** The joined rows. */
const Changes = ({ view }: { view: P.CompareView }) => (
  <div class="jf-scrollx" tabindex={0} role="region" aria-label="Rows that differ">
    <table class="jf-cmptab" data-jf="compare-rows">
      <thead>
        <tr>
          {view.columns.map(({ name, type }, at) => (
            <th scope="col" key={at} class={NUMBERS.has(type) ? "is-r" : undefined}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {view.rows.map((row, place) => (
          <tr key={place}>
            {row.map((text, at) => (
              <td key={at} class={NUMBERS.has(view.columns[at]?.type) ? "is-r" : undefined}>
                {text}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
