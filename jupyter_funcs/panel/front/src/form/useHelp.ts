import { useEffect, useRef, useState } from "preact/hooks";
import type * as P from "../core/protocol";

const RELEASES = ["pointerup", "pointercancel"];

/**
 * The field whose help is shown. Help changes the height of the pane: nothing may move from under
 * the pointer, wherever it is pressed: with the inputs above the result, the result moves too.
 */
export function useHelp() {
  const [help, setHelp] = useState<P.FieldView | null>(null);
  const latest = useRef({ help, isPressed: false });
  const show = (field: P.FieldView | null) => {
    latest.current.help = field;
    if (!latest.current.isPressed) setHelp(field);
  };
  const release = () => {
    latest.current.isPressed = false;
    setHelp(latest.current.help);
  };
  const press = () => {
    latest.current.isPressed = true;
    // A click comes after the release, and is meant for what the pointer is above.
    const later = () => setTimeout(release);
    for (const kind of RELEASES) addEventListener(kind, later, { once: true });
  };
  useEffect(() => {
    addEventListener("pointerdown", press, { capture: true });
    return () => removeEventListener("pointerdown", press, { capture: true });
  }, []);
  return { help, show };
}
