import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

type Box = RefObject<HTMLElement>;

const STOPS = 'button:not(:disabled), input:not(:disabled), [tabindex="0"]';

function focus(element: Element | null | undefined) {
  (element as HTMLElement | null | undefined)?.focus({ preventScroll: true });
}

/**
 * Give the focus to the first thing that can be used, and when it closes to the button that opens
 * it.
 */
export function useDrawerFocus(box: Box, first: string, view: unknown[]) {
  useLayoutEffect(() => {
    const panel = box.current?.closest(".jf-panel");
    return () => focus(panel?.querySelector('[data-jf="history"]'));
  }, []);
  useLayoutEffect(() => focus(box.current?.querySelector(first)), view);
}

/** Keep Tab inside the drawer. */
export function trapTab(event: KeyboardEvent, box: HTMLElement) {
  const stops = [...box.querySelectorAll<HTMLElement>(STOPS)];
  const [first, last] = [stops[0], stops.at(-1)];
  const end = event.shiftKey ? first : last;
  if (event.target !== end && event.target !== box) return;
  event.preventDefault();
  const next = event.shiftKey ? last : first;
  next?.focus();
}
