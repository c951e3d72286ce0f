import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";
import { usePanel } from "../core/panelcontext";

const CANCEL = '[data-jf^="cancel"]';
const RUN = '[data-jf^="run"]';

/**
 * Cancel takes the focus of the inputs, and leaves it to Run before the next key, which would be
 * the notebook's. A focus that has moved elsewhere stays there.
 */
export function useFocusOfRun(pane: RefObject<HTMLElement>) {
  const { run, folded } = usePanel();
  const isRunning = run.state === "running";
  const focused = pane.current?.querySelector(":focus");
  useLayoutEffect(() => {
    if (!focused) return;
    if (!isRunning && !focused.matches(CANCEL)) return;
    const buttons = [
      ...(pane.current?.querySelectorAll<HTMLElement>(isRunning ? CANCEL : RUN) ?? []),
    ];
    const shown = buttons.find((button) => button.offsetWidth);
    shown?.focus({ preventScroll: true });
  }, [run.state, folded]);
}
