import { fitting, isNumber } from "./columns";
import type { GridState } from "./useGrid";

/** How much wider bold digits are. */
const BOLD = 1.1;

/** The sums of the columns that add up. */
export function Sums({ grid }: { grid: GridState }) {
  const { columns, layout, pages } = grid;
  if (!Object.keys(pages.sums).length) return null;
  return (
    <div role="rowgroup" class="jf-footgroup">
      <span class="jf-tf is-label" aria-hidden="true">
        Sum
      </span>
      <div class="jf-tfoot" role="row" aria-label="Sum" data-jf="sums" style={layout.across}>
        {layout.cells.map(({ at, style, width, pin }) => (
          <div
            key={at}
            class={`jf-tf ${pin} ${isNumber(columns.get(at)) ? "is-r" : ""}`}
            style={style}
            role="gridcell"
            data-jf={`sum:${columns.nameOf(at)}`}
            title={pages.sums[at]}
          >
            {pages.sums[at] && fitting(pages.sums[at], width, BOLD)}
          </div>
        ))}
      </div>
    </div>
  );
}
