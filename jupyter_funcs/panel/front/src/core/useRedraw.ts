import { useReducer } from "preact/hooks";

/** Draw a component again after something changed that isn't a state of it. */
export function useRedraw(): () => void {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  return () => redraw(undefined);
}
