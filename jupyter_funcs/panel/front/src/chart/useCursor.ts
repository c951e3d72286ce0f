import { useEffect, useRef, useState } from "preact/hooks";
import { usePanel } from "../core/panelcontext";
import type { Plan } from "./plan";
import { clamp, nearest } from "./scales";

/** The place of the point that values are read at, or -1; moves by keys are announced. */
export function useCursor({ view, inside, X }: Plan) {
  const [at, setAt] = useState(-1);
  const isByKey = useRef(false);
  useEffect(() => setAt(-1), [view]);

  const moveTo = (x: number) => {
    const pixels = inside.map((place) => X(view.x.values[place]));
    setAt(inside.length ? inside[nearest(pixels, x)] : -1);
  };
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
