import type { TargetedMouseEvent } from "preact";
import { useState } from "preact/hooks";
import { Button, Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { type Opened, OpenedBox } from "./opened";
import { Service } from "./service";

/** The function, the service, and what opens from here; one at a time. */
export function Header() {
  const { view, live, drawer, setDrawer } = usePanel();
  const [opened, open] = useState<Opened | null>(null);
  const off = live === "gone" || !view;
  const toggle = (what: Opened["what"]) => (event: TargetedMouseEvent<HTMLElement>) => {
    const anchor = event.currentTarget;
    open((now) => (now?.anchor === anchor ? null : { what, anchor }));
  };
  return (
    <header class="jf-head">
      <button
        type="button"
        class="jf-btn jf-picker"
        data-jf="picker"
        aria-haspopup="dialog"
        aria-expanded="false"
        disabled={off}
        onClick={toggle("picker")}
      >
        <span class="jf-cut">{view?.function?.name ?? "Choose a function"}</span>
        <Icon name="chev" size={14} class="jf-chev" />
      </button>
      {view && <Service service={view.service} off={off} />}
      <Waiting />
      <Button
        data-jf="presets"
        icon="book"
        label="Presets"
        small
        aria="Presets"
        chev
        aria-haspopup="menu"
        aria-expanded="false"
        disabled={off}
        onClick={toggle("presets")}
      />
      <Button
        data-jf="history"
        icon="clock"
        label="History"
        small
        aria="History"
        aria-pressed={drawer}
        disabled={off}
        onClick={() => setDrawer(!drawer)}
      />
      <Button
        data-jf="menu"
        icon="dots"
        aria="More"
        aria-haspopup="menu"
        aria-expanded="false"
        disabled={off}
        onClick={toggle("menu")}
      />
      {opened && !off && <OpenedBox {...opened} close={() => open(null)} open={open} />}
    </header>
  );
}

/** Says that the kernel doesn't answer yet, and why. */
function Waiting() {
  const { live, channel } = usePanel();
  const cause = channel.kernel?.status === "busy" ? "running cell" : "kernel";
  return (
    <span class="jf-gap jf-waits" role="status" data-jf="waiting">
      {live === "busy" && `Waiting for the ${cause}…`}
    </span>
  );
}
