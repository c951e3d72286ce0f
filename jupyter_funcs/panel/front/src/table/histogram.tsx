import type { TargetedPointerEvent } from "preact";
import { useState } from "preact/hooks";
import { clamp } from "../chart/scales";
import type * as P from "../core/protocol";
import { amountOf } from "./columns";

const WIDTH = 96;
const HEIGHT = 22;

/** From a place to another one, each from 0 to 1. */
type Span = [from: number, to: number];

interface HistogramProps {
  summary: P.ColumnSummary;
  /** The heights of the rows that are shown; none if all are. */
  part?: number[];
  /** Open if it isn't a number. */
  low?: number;
  high?: number;
  /** Bars were dragged over, or one was clicked. */
  brush?: (span: Span) => void;
}

/**
 * How often the values of a column occur: dark, of those that are shown, over light, of all. Those
 * out of the bounds are light.
 */
export function Histogram({
  summary,
  part,
  low = -Infinity,
  high = Infinity,
  brush,
}: HistogramProps) {
  const { histogram } = summary;
  const [span, events] = useBrush(histogram.length, brush);
  const first = amountOf(summary.minimum);
  const last = amountOf(summary.maximum);
  const width = WIDTH / histogram.length;
  const isIn = (at: number) => {
    const middle = first + ((at + 0.5) / histogram.length) * (last - first);
    return !(middle < low || middle > high);
  };
  const bar = (share: number, at: number, opacity: number) => {
    const height = share ? Math.max(1, share * (HEIGHT - 1)) : 0;
    return (
      <rect
        x={at * width}
        y={HEIGHT - height}
        width={width * 0.8}
        height={height}
        fill="currentColor"
        opacity={opacity}
      />
    );
  };
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
      class={brush && "is-brush"}
      {...events}
    >
      {span && (
        <rect
          class="g-brush"
          x={span[0] * WIDTH}
          width={(span[1] - span[0]) * WIDTH}
          height={HEIGHT}
        />
      )}
      {histogram.map((share, at) => bar(share, at, !part && isIn(at) ? 1 : 0.25))}
      {part?.map((share, at) => isIn(at) && bar(share, at, 1))}
    </svg>
  );
}

/** The bars that are dragged over, and the events that say so. */
function useBrush(count: number, brush?: (span: Span) => void) {
  const [ends, setEnds] = useState<Span | null>(null);
  const place = ({ currentTarget, clientX }: TargetedPointerEvent<SVGSVGElement>) => {
    const { left, width } = currentTarget.getBoundingClientRect();
    return clamp((clientX - left) / width, 0, 0.999);
  };
  const span = ends && spanOf(ends, count);
  const events = brush && {
    onPointerDown: (event: TargetedPointerEvent<SVGSVGElement>) => {
      event.preventDefault();
      event.stopPropagation();
      event.currentTarget.setPointerCapture(event.pointerId);
      setEnds([place(event), place(event)]);
    },
    onPointerMove: (event: TargetedPointerEvent<SVGSVGElement>) =>
      ends && setEnds([ends[0], place(event)]),
    onPointerUp: () => {
      if (span) brush(span);
      setEnds(null);
    },
    onPointerCancel: () => setEnds(null),
  };
  return [span, events] as const;
}

/** Whole bars. */
function spanOf(ends: Span, count: number): Span {
  const from = Math.floor(Math.min(...ends) * count);
  const to = Math.floor(Math.max(...ends) * count) + 1;
  return [from / count, to / count];
}
