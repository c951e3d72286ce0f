import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/** Look at an element before it is painted, and whenever its size changes. */
export function useResize(
  ref: RefObject<HTMLElement>,
  look: (box: HTMLElement) => void,
  changes: unknown[] = [],
) {
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return undefined;
    look(box);
    if (!globalThis.ResizeObserver) return undefined;
    const observer = new ResizeObserver(() => look(box));
    observer.observe(box);
    return () => observer.disconnect();
  }, changes);
}
