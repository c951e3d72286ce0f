import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

/**
 * Close a box when something outside of it is pressed, and place it again when what is around it
 * moves.
 */
export function useOutside(
  box: RefObject<HTMLElement>,
  others: (HTMLElement | null | undefined)[],
  close: () => void,
  place: () => void,
) {
  useEffect(() => {
    const own = new AbortController();
    const pressed = (event: Event) => {
      const path = event.composedPath();
      const isInside = [box.current, ...others].some((part) => part && path.includes(part));
      if (!isInside) close();
    };
    const scrolled = (event: Event) => {
      if (!box.current?.contains(event.target as Node)) place();
    };
    const { signal } = own;
    document.addEventListener("pointerdown", pressed, { capture: true, signal });
    addEventListener("scroll", scrolled, { capture: true, signal });
    addEventListener("resize", place, { signal });
    return () => own.abort();
  });
}
