import { useLayoutEffect, useRef } from "preact/hooks";
import type * as P from "../core/protocol";
import { briefly, type Line } from "./drawing";
import { LineName } from "./legend";
import { type Plan, TOP } from "./plan";
import { clamp, valueText } from "./scales";
import { Swatch } from "./swatch";

export type PointValue = { line: Line; value: number };

type Props = { plan: Plan; x: number; title: string; values: PointValue[]; signed: boolean };

const GAP = 14;

/** All values at the cursor. */
export function Tooltip({ plan, x, title, values, signed }: Props) {
  const { view, width, height } = plan;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const note = box.current;
    if (!note) return;
    const isRight = x + GAP + note.offsetWidth <= width;
    const left = isRight ? x + GAP : x - note.offsetWidth - GAP;
    note.style.left = `${clamp(left, 0, Math.max(0, width - note.offsetWidth))}px`;
    note.style.top = `${clamp(TOP + 4, 0, Math.max(0, height - note.offsetHeight))}px`;
  });
  const brief = briefly(view);
  const most = clamp(Math.floor((height - 110) / 18), 4, 12);
  return (
    <div class="jf-tip" ref={box} data-jf="tooltip">
      <b>{title}</b>
      {view.unit !== "%" && <span class="jf-quiet">{view.unit}</span>}
      {values.slice(0, most).map(({ line, value }) => (
        <p key={line.name}>
          <Swatch colour={line.colour} width={12} />
          <LineName name={brief(line.name)} label={view.names[line.name]} />
          <span>{valueText(value, view.format, signed)}</span>
        </p>
      ))}
      {values.length > most && <p class="jf-quiet">and {values.length - most} more</p>}
      {view.adds && values.length > 1 && <Sum view={view} values={values} />}
    </div>
  );
}

const Sum = ({ view, values }: { view: P.ChartView; values: PointValue[] }) => (
  <p class="is-sum">
    <span>Sum</span>
    <span>
      {valueText(
        values.reduce((sum, { value }) => sum + value, 0),
        view.format,
      )}
    </span>
  </p>
);
