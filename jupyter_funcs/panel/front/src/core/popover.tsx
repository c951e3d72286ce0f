import type { AriaRole, ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { placeBeside } from "./placement";
import { useOutside } from "./useOutside";
import { useTopLayer } from "./useTopLayer";

interface PopoverProps {
  anchor: HTMLElement;
  close: () => void;
  label?: string;
  role?: AriaRole;
  class?: string;
  /** Its `data-jf`. */
  hook?: string;
  /** In pixels; else the content's, and at least the anchor's. */
  width?: number;
  /** Flush with the anchor's right edge. */
  right?: boolean;
  /** What it is placed below, if not the anchor. */
  under?: Element | null;
  /** A combobox keeps the focus itself. */
  focus?: boolean;
  /** The box of a combobox: clicks in it leave the popover open, which is placed beside it. */
  keep?: HTMLElement | null;
  onKeyDown?: (event: KeyboardEvent) => void;
  children?: ComponentChildren;
}

/**
 * A box in the browser's top layer beside its anchor, where no output area cuts it off. Draw it
 * while it is open.
 */
export function Popover(props: PopoverProps) {
  const { anchor, close, width, right, under, focus = true, keep, onKeyDown } = props;
  const box = useRef<HTMLDivElement>(null);
  const place = () => {
    if (!box.current || !anchor.isConnected) return;
    placeBeside(box.current, under ?? keep ?? anchor, width, right);
  };
  useTopLayer(box, anchor, place, focus);
  useLayoutEffect(place);
  useOutside(box, [anchor, keep], close, place);

  const keys = (event: KeyboardEvent) => {
    onKeyDown?.(event);
    submitOnEnter(event);
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    <div
      ref={box}
      popover="manual"
      class={`jf-popover ${props.class ?? ""}`}
      role={props.role}
      aria-label={props.label}
      data-jf={props.hook}
      onKeyDown={keys}
    >
      {props.children}
    </div>
  );
}

/** Enter in a form does nothing by itself inside JupyterLab's outputs. */
function submitOnEnter(event: KeyboardEvent) {
  const target = event.target as HTMLInputElement;
  if (event.key !== "Enter" || !target.form || !target.matches("input")) return;
  event.preventDefault();
  target.form.requestSubmit();
}
