import { Button } from "../core/icons";
import { Opener } from "../core/opener";
import { usePanel } from "../core/panelcontext";
import type * as P from "../core/protocol";
import { ALL } from "../core/query";
import { AsVariable } from "./asvariable";
import { Chip } from "./chip";
import { ComputeBox } from "./computebox";
import type { GridState } from "./useGrid";
import { useSteps } from "./useShape";

interface StepToolsProps {
  grid: GridState;
  result: P.ResultView;
  isPivot: boolean;
}

/** What makes another table of this one, and what undoes all that was chosen. */
export function StepTools({ grid: { off, columns }, result, isPivot }: StepToolsProps) {
  const { seen, tell } = usePanel();
  const steps = useSteps(result);
  const isArranged = seen.steps.length > 0 || seen.arranged !== undefined;
  const isChosen = isArranged || JSON.stringify(seen.query) !== JSON.stringify(ALL);
  return (
    <>
      {isChosen && (
        <Button
          kind="is-link"
          icon="undo"
          label="Reset view"
          aria="Reset view"
          small
          data-jf="reset-view"
          disabled={off}
          onClick={steps.reset}
        />
      )}
      <Opener
        kind="is-link"
        icon="plus"
        label="Compute"
        aria="Compute a column"
        small
        data-jf="compute"
        opens="dialog"
        disabled={off}
        draw={(anchor, close) => (
          <ComputeBox
            anchor={anchor}
            names={result.table.columns.map(({ at }) => columns.nameOf(at))}
            compute={steps.compute}
            close={close}
          />
        )}
      />
      <Button
        kind="is-link"
        icon="pivot"
        label="Pivot"
        aria="Pivot"
        small
        data-jf="pivot"
        aria-pressed={isPivot ? "true" : "false"}
        disabled={off}
        onClick={() => void tell(isPivot ? steps.unpivot() : steps.pivot({}))}
      />
    </>
  );
}

/** The computed columns and the points of a chart, to be taken away. */
export function StepChips({ grid, result }: Omit<StepToolsProps, "isPivot">) {
  const { tell } = usePanel();
  const { steps, remove } = useSteps(result);
  const last = steps.at(-1);
  return (
    <>
      {steps.map((step) => (
        <StepChip key={step} step={step} off={grid.off} remove={() => void tell(remove(step))} />
      ))}
      {last && last.kind !== "pivot" && (
        <AsVariable
          grid={grid}
          result={result}
          ending={last.kind === "points" ? "points" : "computed"}
        />
      )}
    </>
  );
}

function StepChip({ step, ...rest }: { step: P.Step; off: boolean; remove: () => void }) {
  if (step.kind === "pivot") return null;
  if (step.kind === "points")
    return <Chip text="Points of the chart" hook="points" label="Back to all rows" {...rest} />;
  const { name, expression } = step;
  const text = name === expression ? name : `${name} = ${expression}`;
  return <Chip text={text} hook={name} label="Remove column" {...rest} />;
}
