import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { arrows } from "./arrows";

/** Buttons of which the Tab key stops at one; arrows move between them. */
export function Toolbar({ label, children }: { label: string; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const buttons = () =>
    [...(box.current?.querySelectorAll<HTMLElement>(BUTTONS) ?? [])].filter(
      (button) => getComputedStyle(button).display !== "none",
    );
  const stopAt = (stop: HTMLElement) => {
    for (const button of buttons()) button.tabIndex = button === stop ? 0 : -1;
  };
  useLayoutEffect(() => {
    const all = buttons();
    const stops = all.filter((button) => button.tabIndex === 0);
    if (all.length && stops.length !== 1) stopAt(all[0]);
  });
  const keys = (event: KeyboardEvent) => {
    const all = buttons();
    const at = all.indexOf(event.target as HTMLElement);
    if (at < 0 || /Up|Down/.test(event.key)) return;
    arrows(event, at, all.length, (next) => stopAt(all[next]), all);
  };
  return (
    <div class="jf-toolbar" role="toolbar" aria-label={label} ref={box} onKeyDown={keys}>
      {children}
    </div>
  );
}

/** Not those of what a button has opened. */
const BUTTONS = ":scope > button:not(:disabled)";
