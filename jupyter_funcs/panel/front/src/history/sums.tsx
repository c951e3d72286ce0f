import { valueText } from "../chart/scales";
import type * as P from "../core/protocol";

type Totals = NonNullable<P.CompareView["totals"]>;
type ValueProps = {
  before: number | null;
  after: number | null;
  format: string;
  neutral: boolean;
};

/** The measure of two runs for each category, and its sum if it adds up. */
export function Sums({ totals, view }: { totals: Totals; view: P.CompareView }) {
  const { sides, neutral } = view;
  const { title, unit, format, adds, rows } = totals;
  const by = title.split(" by ").at(-1) ?? "";
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
              {[...sides, neutral ? "Difference" : "Change", "%"].map((name) => (
                <th scope="col" class="is-r" key={name}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, before, after]) => (
              <tr key={name}>
                <td>{name}</td>
                <Values before={before} after={after} format={format} neutral={neutral} />
              </tr>
            ))}
          </tbody>
          {adds && rows.length > 1 && (
            <tfoot>
              <tr>
                <th scope="row">Sum</th>
                <Values before={sum(1)} after={sum(2)} format={format} neutral={neutral} />
              </tr>
            </tfoot>
          )}
        </table>
      </div>
    </div>
  );
}

/** Both values, and the difference as a number and in percent; up and down are coloured in time. */
function Values({ before, after, format, neutral }: ValueProps) {
  const delta = before === null || after === null ? null : after - before;
  const share = delta === null || !before ? null : delta / Math.abs(before);
  return (
    <>
      <td class="is-r">{valueText(before, format)}</td>
      <td class="is-r">{valueText(after, format)}</td>
      <td class="is-r">{signed(delta, format)}</td>
      <td class={`is-r ${neutral ? "" : direction(share)}`}>{signed(share, "percent")}</td>
    </>
  );
}

/** "+1,200" and "−8.5%". */
function signed(value: number | null, format: string) {
  if (value === null) return "";
  const plus = value > 0 && format !== "percent" ? "+" : "";
  return plus + valueText(value, format, true);
}

function direction(share: number | null) {
  if (share === null || share === 0) return "";
  return share > 0 ? "jf-up" : "jf-down";
}
