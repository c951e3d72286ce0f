import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

const FOCUSABLE = "[autofocus], input, [role^=menuitem], [tabindex='0'], button";

/**
 * Show a box in the browser's top layer, give it the focus, and return the focus to the anchor at
 * the end.
 */
export function useTopLayer(
  ref: RefObject<HTMLElement>,
  anchor: HTMLElement,
  place: () => void,
  focus: boolean,
) {
  useLayoutEffect(() => {
    const box = ref.current;
    box?.showPopover?.();
    place();
    if (focus) box?.querySelector<HTMLElement>(FOCUSABLE)?.focus({ preventScroll: true });
    anchor.setAttribute("aria-expanded", "true");
    return () => {
      anchor.setAttribute("aria-expanded", "false");
      // The focus goes back where it came from, unless whoever closed the box has put it elsewhere.
      const root = box?.getRootNode() as Document | ShadowRoot | undefined;
      const isLost = box?.contains(root?.activeElement ?? null);
      if (isLost && anchor.isConnected) anchor.focus({ preventScroll: true });
    };
  }, [anchor]);
}
