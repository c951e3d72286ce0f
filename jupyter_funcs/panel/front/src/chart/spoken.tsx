import { useEffect, useState } from "preact/hooks";
import type * as P from "../core/protocol";
import { caption, type Line } from "./drawing";
import { valueText } from "./scales";

const AFTER = 400; // milliseconds, so that drawing doesn't wait
const MOST_ROWS = 60;

type Props = { view: P.ChartView; lines: Line[]; when: (at: number) => string };

/** The values as a table, which is heard and not seen. */
export function Spoken({ view, lines, when }: Props) {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setReady(true), AFTER);
    return () => clearTimeout(timer);
  }, []);
  if (!ready) return null;
  const step = Math.ceil(view.x.values.length / MOST_ROWS);
  const places = view.x.values.map((_, at) => at).filter((at) => at % step === 0);
  // A table takes its width whatever its style says.
  return (
    <div class="jf-off">
      <table data-jf="chart-table">
        <caption>
          {caption(view)}
          {step > 1 ? `, one point of ${step}` : ""}
        </caption>
        <thead>
          <tr>
            <th scope="col">Point</th>
            {lines.map(({ name }) => (
              <th scope="col" key={name}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {places.map((at) => (
            <tr key={at}>
              <th scope="row">{when(at)}</th>
              {lines.map(({ name, values }) => (
                <td key={name}>{valueText(values[at], view.format)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
