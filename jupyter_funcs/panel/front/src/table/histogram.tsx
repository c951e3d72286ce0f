import type * as P from "../core/protocol";
import { parsed } from "./columns";

const WIDTH = 96;
const HEIGHT = 22;

interface HistogramProps {
  summary: P.ColumnSummary;
  low?: number;
  high?: number;
}

/** How often the values of a column occur; those out of the bounds are light. */
export function Histogram({ summary, low = -Infinity, high = Infinity }: HistogramProps) {
  const { histogram } = summary;
  const first = parsed(summary.minimum);
  const last = parsed(summary.maximum);
  const width = WIDTH / histogram.length;
  const isOut = (at: number) => {
    const middle = first + ((at + 0.5) / histogram.length) * (last - first);
    return middle < low || middle > high;
  };
  return (
    <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {histogram.map((share, at) => {
        const height = share ? Math.max(1, share * (HEIGHT - 1)) : 0;
        return (
          <rect
            x={at * width}
            y={HEIGHT - height}
            width={width * 0.8}
            height={height}
            fill="currentColor"
            opacity={isOut(at) ? 0.25 : 1}
          />
        );
      })}
    </svg>
  );
}
