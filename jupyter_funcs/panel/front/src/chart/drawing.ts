import { useState } from "preact/hooks";
import { shortened } from "../core/format";
import type * as P from "../core/protocol";
import { useResize } from "../core/useResize";

export type Line = P.Series;
/** Two days since 1970, or the places of two categories. */
export type Range = [number, number];
export type Zoom = Range | null;

const COLOURS = 8;
/** The colours that no line of its own has. */
export const REST = -1;
const COMPARED = -2;

/**
 * The colour of a line: 0 to 7 for its own; one of many lines, and what another is compared with,
 * are quiet.
 */
export const ink = (colour: number) =>
  colour >= 0 ? `var(--s${(colour % COLOURS) + 1})` : "var(--jf-quiet)";

export function dash(colour: number) {
  if (colour === COMPARED) return "4 3";
  return colour % COLOURS > 5 ? "5 3" : undefined;
}

/** Return what shortens the names of lines, or of bars. */
export const briefly = (view: P.ChartView) =>
  shortened(view.series.length > 1 ? view.series.map(({ name }) => name) : view.x.labels);

export const caption = ({ title, unit }: P.ChartView) => [title, unit].filter(Boolean).join(", ");

/** A line or a tick between two rows of pixels is blurred. */
export const sharp = (pixel: number) => Math.round(pixel) + 0.5;

/** The path of a line; it continues over points without a value. */
export function path(
  xs: number[],
  values: Line["values"],
  X: (x: number) => number,
  Y: (y: number) => number,
) {
  let out = "";
  for (const [at, value] of values.entries()) {
    if (value === null) continue;
    out += `${out ? "L" : "M"}${X(xs[at]).toFixed(1)} ${Y(value).toFixed(1)}`;
  }
  return out.includes("L") ? out : `${out}h0`;
}

/** The size of an element in pixels, from its first layout on. */
export function useSize(ref: { current: HTMLElement | null }): [number, number] {
  const [size, setSize] = useState<[number, number]>([0, 0]);
  useResize(ref, ({ clientWidth, clientHeight }) => {
    const [width, height] = [clientWidth || 640, clientHeight || 300];
    setSize((old) => (old[0] === width && old[1] === height ? old : [width, height]));
  });
  return size;
}
