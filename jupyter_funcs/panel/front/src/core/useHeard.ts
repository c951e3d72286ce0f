import { useLayoutEffect } from "preact/hooks";
import type { Channel } from "./channel";
import type * as P from "./protocol";

const TRAITS = ["view", "service", "options", "values", "run", "result"];

/**
 * Draw again when the kernel writes anything; `hear` what it says, and `show` the tab that it
 * names.
 */
export function useHeard(
  channel: Channel,
  redraw: () => void,
  hear: (event: P.Event) => void,
  show: () => void,
) {
  // Before the first paint, since effects wait for a frame and what the kernel says meanwhile would
  // be lost.
  useLayoutEffect(() => {
    const { model } = channel;
    for (const trait of TRAITS) model.on(`change:${trait}`, redraw);
    model.on("change:tab", show);
    channel.watchers.add(redraw);
    channel.listeners.add(hear);
    redraw();
    return () => {
      for (const trait of TRAITS) model.off(`change:${trait}`, redraw);
      model.off("change:tab", show);
      channel.watchers.delete(redraw);
      channel.listeners.delete(hear);
    };
  }, [channel]);
}
