import { Pick } from "../chart/choice";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { AsVariable } from "./asvariable";
import type { GridState } from "./useGrid";
import { useSteps } from "./useShape";

const HOWS: Record<P.How, string> = {
  sum: "Sum",
  share: "Share",
  ratio: "Ratio of sums",
  mean: "Mean",
  count: "Count",
  first: "First",
  last: "Last",
};
/** Columns whose values name the rows, at most. */
const MOST_ROWS = 3;

interface PivotBarProps {
  grid: GridState;
  result: P.ResultView;
  pivot: P.PivotView;
}

interface Part {
  hook: string;
  label: string;
  value: string;
  values: string[];
  labels?: Record<string, string>;
  chosen: (value: string) => P.PivotWish;
}

/** What a pivot is made of: each part may be another column. */
function partsOf({ rows, columns, measure, how, keys, measures, hows }: P.PivotView): Part[] {
  const free = (now: string) => keys.filter((key) => key === now || !rows.includes(key));
  const places = [...rows, ""].slice(0, Math.min(MOST_ROWS, keys.length));
  const named = places.map((value, at) => ({
    hook: `row:${at}`,
    label: at ? "then" : "Rows",
    value,
    values: [...(at ? [""] : []), ...free(value)],
    chosen: (name: string) => ({ rows: rows.toSpliced(at, 1, name).filter(Boolean) }),
  }));
  return [
    ...named,
    {
      hook: "columns",
      label: "Columns",
      value: columns,
      values: ["", ...free(columns)],
      chosen: (name) => ({ columns: name }),
    },
    {
      hook: "measure",
      label: "Measure",
      value: measure,
      values: [...measures, ""],
      labels: { "": "Number of rows" },
      chosen: (name) => ({ measure: name, how: undefined }),
    },
    {
      hook: "how",
      label: "Show",
      value: how,
      values: hows,
      labels: HOWS,
      chosen: (value) => ({ how: value as P.How }),
    },
  ];
}

/** What a pivot is made of, to be chosen, and what to do with it. */
export function PivotBar({ grid, result, pivot }: PivotBarProps) {
  const { tell } = usePanel();
  const steps = useSteps(result);
  const { rows, columns, measure, how } = pivot;
  const optionsOf = ({ values, labels }: Part) =>
    values.map((value) => ({
      value,
      label: labels?.[value] ?? (value || "None"),
      disabled: false,
    }));
  return (
    <div class="jf-sub jf-pivot" role="group" aria-label="Pivot" data-jf="pivot-bar">
      {partsOf(pivot).map((part) => (
        <Pick
          key={part.hook}
          hook={`pivot-${part.hook}`}
          label={part.label}
          value={part.value}
          options={optionsOf(part)}
          choose={(value) =>
            void tell(steps.pivot({ rows, columns, measure, how, ...part.chosen(value) }))
          }
          off={grid.off}
        />
      ))}
      {pivot.note && (
        <span class="jf-quiet" data-jf="pivot-note">
          {pivot.note}
        </span>
      )}
      <AsVariable grid={grid} result={result} ending="pivot" />
    </div>
  );
}
