import { useEffect, useRef, useState } from "preact/hooks";
import type { Channel } from "./channel";
import type * as P from "./protocol";

/** Says why a request was refused; for those whose answer nobody waits for. */
export type Tell = (reply: Promise<unknown>) => Promise<unknown>;

const FIRST_INPUT = '[data-jf="form"] :is(input, textarea, [role=radio][tabindex="0"])';

/** What is done with the form as a whole: choose its function, run it, empty it. */
export function useRequests(
  channel: Channel,
  root: HTMLElement,
  run: P.Run,
  chosen: string | undefined,
  tell: Tell,
) {
  const [pressed, setPressed] = useState(0);
  const [asks, setAsks] = useState("");
  const isChoice = useRef(false);
  const forget = () => setAsks("");
  useEffect(() => {
    setPressed(0);
    forget();
    if (isChoice.current) {
      root.querySelector<HTMLElement>(FIRST_INPUT)?.focus({ preventScroll: true });
    }
    isChoice.current = false;
  }, [chosen]);
  return {
    /** How often Run was pressed for this function, since the form was cleared. */
    pressed,
    /** What is to be confirmed before a run. */
    asks,
    forget,
    /** Run pressed: the form then says what is missing, and very many runs are asked about. */
    async submit(confirmed = false) {
      if (run.state === "running") return;
      setPressed((times) => times + 1);
      forget();
      await tell(channel.run(confirmed).then((reply) => setAsks(reply.asks ?? "")));
    },
    /** Empty the form. */
    clear() {
      setPressed(0);
      forget();
      void tell(channel.ask("clear", {}));
    },
    /** Open the search for a function. */
    search: () => root.querySelector<HTMLElement>('[data-jf="picker"]')?.click(),
    /** Choose a function, and continue in its first field. */
    choose(id: string) {
      isChoice.current = true;
      void tell(channel.ask("choose", { function: id }));
    },
    /** The same, with a value in one of its fields. */
    use({ function: id, field, value }: P.Use) {
      isChoice.current = true;
      void tell(channel.ask("choose", { function: id }));
      void tell(channel.ask("set", { seq: 0, field, value }));
    },
  };
}
