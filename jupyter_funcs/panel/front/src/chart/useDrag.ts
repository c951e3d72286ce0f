import { useRef, useState } from "preact/hooks";
import type { Range, Zoom } from "./drawing";
import { FOOT, type Plan, TOP } from "./plan";
import { clamp } from "./scales";

/**
 * In the chart, a range is drawn; in the strip, the window or one of its ends is moved, or a new
 * one drawn.
 */
type Kind = "zoom" | "left" | "right" | "move" | "new";
type Drag = { kind: Kind; x: number; range: Range };

const GRIP = 10; // pixels around an end of the window
const LEAST = 6; // pixels of a range that is meant

/** The shortest range that can be zoomed to. */
export const shortest = ({ full }: Plan) => (full[1] - full[0]) / 200;

/**
 * Zoom by dragging across the chart or in its strip; `brush` in pixels, `moved` in values, while it
 * lasts.
 */
export function useDrag(plan: Plan, zoom: Zoom, shift: (range: Range) => void) {
  const { left, range, valueAt } = plan;
  const drag = useRef<Drag | null>(null);
  const [brush, setBrush] = useState<Range | null>(null);
  const [moved, setMoved] = useState<Zoom>(null);

  const begin = (x: number, y: number) => {
    if (x < left - 6) return false;
    drag.current = { kind: kindAt(plan, zoom, x, y), x, range: [range[0], range[1]] };
    return true;
  };
  const move = (x: number) => {
    if (!drag.current) return;
    const { kind, x: start } = drag.current;
    if (kind === "zoom") setBrush([Math.min(x, start), Math.max(x, start)]);
    else setMoved(dragged(plan, drag.current, x));
  };
  const end = () => {
    const isZoom = drag.current?.kind === "zoom";
    drag.current = null;
    if (isZoom && brush && brush[1] - brush[0] > LEAST)
      shift([valueAt(brush[0], range), valueAt(brush[1], range)]);
    else if (moved) shift(moved);
    setBrush(null);
    setMoved(null);
  };
  return { brush, moved, isDragging: () => drag.current !== null, begin, move, end };
}

function kindAt({ strip, tall, range, stripX }: Plan, zoom: Zoom, x: number, y: number): Kind {
  const [from, to] = range.map(stripX);
  if (!strip || y < TOP + tall + FOOT) return "zoom";
  if (Math.abs(x - to) < GRIP) return "right";
  if (Math.abs(x - from) < GRIP) return "left";
  return zoom && x > from && x < to ? "move" : "new";
}

/** The range of the strip's window when the pointer is at a pixel. */
function dragged(plan: Plan, { kind, x: start, range }: Drag, x: number): Range {
  const { full, valueAt } = plan;
  const least = shortest(plan);
  const [from, value] = [valueAt(start, full), valueAt(x, full)];
  const by = clamp(value - from, full[0] - range[0], full[1] - range[1]);
  const low = Math.min(value, from);
  const ranges: Record<Kind, Range> = {
    right: [range[0], Math.max(range[0] + least, value)],
    left: [Math.min(range[1] - least, value), range[1]],
    move: [range[0] + by, range[1] + by],
    new: [low, Math.max(value, from, low + least)],
    zoom: range,
  };
  const [first, last] = ranges[kind];
  return [clamp(first, ...full), clamp(last, ...full)];
}
