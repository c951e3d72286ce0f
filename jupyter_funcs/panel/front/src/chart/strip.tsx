import type * as P from "../core/protocol";
import { path, type Range, REST } from "./drawing";
import type { Plan } from "./plan";

type Props = { whole: P.ChartView; hidden: string[]; plan: Plan; shade: Range };

/** All of the time below a chart, to choose a part of it. */
export function Strip({ whole, hidden, plan, shade }: Props) {
  const { strip, height, stripX } = plan;
  const [from, to] = shade.map(stripX);
  return (
    <>
      <Outline whole={whole} hidden={hidden} plan={plan} />
      <rect
        class="g-win"
        x={from}
        width={Math.max(2, to - from)}
        y={height - strip + 0.5}
        height={strip - 1}
        rx="3"
      />
      {[from, to].map((x, end) => (
        <rect
          key={end}
          class="g-grip"
          x={x - 3}
          y={height - strip / 2 - 8}
          width="6"
          height="16"
          rx="3"
        />
      ))}
    </>
  );
}

/** The sum of the lines. */
function Outline({ whole, hidden, plan }: Omit<Props, "shade">) {
  const { strip, height, stripX } = plan;
  const xs = whole.x.values;
  const lines = whole.series.filter(
    ({ name, colour }) => colour !== REST && !hidden.includes(name),
  );
  const added = lines.length ? lines : whole.series;
  const sums = xs.map((_, at) => added.reduce((sum, { values }) => sum + (values[at] ?? 0), 0));
  const [low, high] = [Math.min(...sums), Math.max(...sums)];
  const span = (high - low) * 1.15 || 1;
  const top = height - strip;
  const bottom = top + strip;
  const Y = (value: number) =>
    bottom - 2 - ((value - low + (high - low) * 0.15) / span) * (strip - 4);
  const outline = path(xs, sums, stripX, Y).replace("M", "L");
  const [first, last] = [stripX(xs[0]), stripX(xs.at(-1) as number)];
  return <path class="g-mini" d={`M${first} ${bottom}${outline}L${last} ${bottom}Z`} />;
}
