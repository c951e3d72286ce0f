import type * as P from "../core/protocol";

const NUMBERS = new Set(["money", "count", "number", "percent"]);

/** The joined rows of two runs that differ. */
export function RowChanges({ view }: { view: P.CompareView }) {
  const aligned = view.columns.map(({ type }) => (NUMBERS.has(type) ? "is-r" : undefined));
  return (
    <div class="jf-scrollx" tabindex={0} role="region" aria-label="Rows that differ">
      <table class="jf-cmptab" data-jf="compare-rows">
        <thead>
          <tr>
            {view.columns.map(({ name }, at) => (
              <th scope="col" key={at} class={aligned[at]}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {view.rows.map((row, place) => (
            <tr key={place}>
              {row.map((text, at) => (
                <td key={at} class={aligned[at]}>
                  {text}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
