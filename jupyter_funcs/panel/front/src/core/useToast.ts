import { useRef, useState } from "preact/hooks";

/** Milliseconds that a text is shown, by its length. */
const shownFor = (text: string) => Math.min(12_000, 2500 + 50 * text.length);

/** A text that is shown for a while. */
export function useToast() {
  const [toasted, setToast] = useState("");
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const stop = () => clearTimeout(timer.current);
  const toast = (text: string) => {
    stop();
    setToast(text);
    timer.current = setTimeout(() => setToast(""), shownFor(text));
  };
  return { toasted, toast, stop };
}
