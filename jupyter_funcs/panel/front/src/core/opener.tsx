import type { ComponentChildren, TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Button } from "./icons";

interface OpenerProps extends Record<string, unknown> {
  opens: "dialog" | "menu";
  disabled?: boolean;
  draw: (anchor: HTMLElement, close: () => void) => ComponentChildren;
}

/** A button, and what it opens beside itself. */
export function Opener({ opens, draw, ...rest }: OpenerProps) {
  const [anchor, open] = useState<HTMLElement | null>(null);
  return (
    <>
      <Button
        aria-haspopup={opens}
        aria-expanded="false"
        onClick={({ currentTarget }: TargetedEvent<HTMLElement>) =>
          open(anchor ? null : currentTarget)
        }
        {...rest}
      />
      {anchor && !rest.disabled && draw(anchor, () => open(null))}
    </>
  );
}
