import { useEffect, useState } from "preact/hooks";
import type { Channel } from "./channel";
import { copied } from "./clipboard";
import type * as P from "./protocol";
import { store, stored } from "./stored";
import { useFold } from "./useFold";
import { useLink } from "./useLink";
import { useRequests } from "./useRequests";
import { useSeen } from "./useSeen";
import { useTab } from "./useTab";
import { useToast } from "./useToast";

export type PanelState = ReturnType<typeof usePanelState>;

const OF_TABLE = new Set(
  "rows columns values copy named facts cell uses described table_code chart save assign".split(
    " ",
  ),
);
/** Where the page keeps whether the inputs are above the result. */
const INPUTS = "jupyter_funcs.inputs";

const NO_RUN: P.Run = {
  state: "empty",
  number: 0,
  running: null,
  result: null,
  error: null,
  partial: null,
  warnings: [],
  more: false,
};

/** The run as the kernel wrote it, with what it has told of its progress since. */
function runOf({ model, progress }: Channel): P.Run {
  const run: P.Run = { ...NO_RUN, ...model.get("run"), ...model.get("result") };
  return run.running ? { ...run, running: { ...run.running, ...progress } } : run;
}

/** What sends requests; those of a table are of the one that steps make. */
function askOf(channel: Channel, steps: P.Step[]): Channel["ask"] {
  return (kind, fields, limit) => {
    const isOfTable = OF_TABLE.has(kind) && steps.length > 0;
    return channel.ask(kind, isOfTable ? { steps, ...fields } : fields, limit);
  };
}

/** Everything that the parts of a panel share. */
export function usePanelState(channel: Channel, root: HTMLElement) {
  const { model } = channel;
  const [said, announce] = useState("");
  const { toasted, toast, stop } = useToast();
  const [drawer, setDrawer] = useState(false);
  const [stacked, setStacked] = useState<boolean>(() => stored(INPUTS)?.stacked ?? false);
  const view = channel.view();
  const run = runOf(channel);
  const tell = (reply: Promise<unknown>) => reply.catch((error: Error) => toast(error.message));

  const tabs = useTab(channel, tell, (event) => event.ev === "said" && toast(event.text));
  const seen = useSeen(model.get("view")?.panel, run.result);
  const requests = useRequests(channel, root, run, view?.function?.id, tell);
  useLink(view, channel, tell);
  const folding = useFold(run, view?.function?.id, run.result !== null, announce);
  useEffect(() => stop, []);
  // What says so is below the drawer.
  useEffect(() => {
    if (channel.live === "gone") setDrawer(false);
  }, [channel.live]);

  return {
    channel,
    view,
    /** What the form holds, with what was typed since. */
    values: channel.values(),
    run,
    live: channel.live,
    ask: askOf(channel, seen.seen.steps),
    set: channel.set.bind(channel),
    change: channel.change.bind(channel),
    /** Say why a request was refused; for those whose answer nobody waits for. */
    tell,
    ...tabs,
    ...requests,
    ...seen,
    /** Narrow: the form is one line of chips. */
    ...folding,
    async copy(text: string) {
      toast((await copied(text)) ? "Copied" : "The browser did not allow copying.");
    },
    /** Read to whoever listens to a screen reader. */
    announce,
    said,
    toast,
    toasted,
    /** The inputs are above the result at any width. */
    stacked,
    setStacked(next: boolean) {
      store(INPUTS, { stacked: next });
      setStacked(next);
      if (next) folding.fold(true);
    },
    /** History is open. */
    drawer,
    setDrawer,
  };
}
