import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const CONTROL = ":is(.jf-box, .jf-seg) :is(input, textarea, button)";

/** Give the focus to a field by name, once it is drawn. */
export function useWanted(pane: RefObject<HTMLElement>) {
  const wanted = useRef("");
  useLayoutEffect(() => {
    if (!wanted.current) return;
    const hook = CSS.escape(`field:${wanted.current}`);
    const field = pane.current?.querySelector(`[data-jf="${hook}"]`);
    if (!field) return;
    wanted.current = "";
    field.querySelector<HTMLElement>(CONTROL)?.focus({ preventScroll: true });
    field.scrollIntoView?.({ block: "nearest" });
  });
  return wanted;
}
