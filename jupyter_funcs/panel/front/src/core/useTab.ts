import { useState } from "preact/hooks";
import type { Channel } from "./channel";
import type * as P from "./protocol";
import { useHeard } from "./useHeard";
import { useRedraw } from "./useRedraw";
import type { Tell } from "./useRequests";

/** The tab, shown before the kernel has written it; draws again when the kernel writes anything. */
export function useTab(channel: Channel, tell: Tell, hear: (event: P.Event) => void) {
  const redraw = useRedraw();
  const [wanted, setWanted] = useState<P.Tab | null>(null);
  useHeard(channel, redraw, hear, () => {
    setWanted(null);
    redraw();
  });
  const tab: P.Tab = wanted ?? channel.model.get("tab") ?? "table";
  const showTab = (next: P.Tab) => {
    setWanted(next);
    const noJson = channel.model.get("result")?.result?.noJson;
    // What the other tabs ask for says which is shown.
    const asksNothing = next === "table" || (next === "json" && noJson);
    if (asksNothing) void tell(channel.ask("tab", { tab: next }));
  };
  return { tab, showTab };
}
