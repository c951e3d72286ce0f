import { useEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type { Plan } from "./plan";
import { clamp, nearest } from "./scales";

/** The place of the point that values are read at, or -1; moves by keys are announced. */
export function useCursor({ view, inside, X, Y, lines }: Plan) {
  // Of one view: to clear it in an effect could lose what a key has done before that.
  const [cursor, move] = useState({ view, at: -1 });
  const at = cursor.view === view ? cursor.at : -1;
  const setAt = (place: number) => move({ view, at: place });
  const isByKey = useRef(false);

  /** How far a point is; of a scatter plot across and down. */
  const farFrom = (x: number, y: number) => (place: number) => {
    const across = X(view.x.values[place]) - x;
    if (view.kind !== "scatter") return Math.abs(across);
    const value = lines.map(({ values }) => values[place]).find((own) => own !== null) ?? 0;
    return Math.hypot(across, Y(value) - y);
  };
  const moveTo = (x: number, y: number) =>
    setAt(inside.length ? inside[nearest(inside.map(farFrom(x, y)), 0)] : -1);
  /** Move by a key; return whether it is one that moves. */
  const moveBy = (key: string) => {
    const here = inside.indexOf(at);
    const last = inside.length - 1;
    const next = {
      ArrowRight: here + 1,
      ArrowLeft: here < 0 ? last : here - 1,
      Home: 0,
      End: last,
      PageDown: here + 10,
      PageUp: here - 10,
    }[key];
    if (next === undefined || !inside.length) return false;
    setAt(inside[clamp(next, 0, last)]);
    return true;
  };
  return { at, leave: () => setAt(-1), moveTo, moveBy, isByKey };
}

/** Read to whoever listens what a key has moved to. */
export function useAnnounced({ at, isByKey }: ReturnType<typeof useCursor>, label: string) {
  const { announce } = usePanel();
  useEffect(() => {
    if (at >= 0 && isByKey.current) announce(label);
    isByKey.current = false;
  }, [at]);
}
