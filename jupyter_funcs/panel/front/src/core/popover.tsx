import type { AriaRole, ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { IconName } from "./icons";
import { Icon } from "./icons";

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
  /** What it stands below, if not the anchor. */
  under?: Element | null;
  focus?: boolean;
  keep?: HTMLElement | null;
  onKeyDown?: (event: KeyboardEvent) => void;
  children?: ComponentChildren;
}

const FOCUSABLE = "[autofocus], input, [role^=menuitem], [tabindex='0'], button";

/**
 * A box in the browser's top layer beside its anchor, where no output area cuts it off. Draw it while it is open.
 *
 * `close(true)` gives the focus back to the anchor. A combobox keeps the focus itself (`focus: false`), and names the box
 * whose clicks leave it open and beside which it stands (`keep`).
 */
export function Popover({
  anchor,
  close,
  label,
  role,
  class: className = "",
  hook,
  width,
  right = false,
  under,
  focus = true,
  keep,
  onKeyDown,
  children,
}: PopoverProps) {
  const ref = useRef<HTMLDivElement | null>(null);

  const place = () => {
    const box = ref.current;
    if (!box || !anchor.isConnected) return;
    const at = (under ?? keep ?? anchor).getBoundingClientRect();
    const wide = Math.min(width ?? Math.max(box.offsetWidth, at.width), innerWidth - 16);
    const below = innerHeight - at.bottom - 12;
    const above = at.top - 12;
    const up = below < Math.min(box.scrollHeight, 240) && above > below;
    const left = right ? at.right - wide : at.left;
    Object.assign(box.style, {
      width: `${wide}px`,
      maxHeight: `${Math.min(560, Math.max(up ? above : below, 160))}px`,
      left: `${Math.max(8, Math.min(left, innerWidth - wide - 8))}px`,
      top: up ? "auto" : `${at.bottom + 4}px`,
      bottom: up ? `${innerHeight - at.top + 4}px` : "auto",
    });
  };

  useLayoutEffect(() => {
    const box = ref.current;
    box?.showPopover?.();
    place();
    if (focus)
      (box?.querySelector(FOCUSABLE) as HTMLElement | null)?.focus({ preventScroll: true });
    anchor.setAttribute("aria-expanded", "true");
    return () => {
      anchor.setAttribute("aria-expanded", "false");
      // The focus goes back where it came from, unless whoever closed it has put it elsewhere.
      const lost = box?.contains((box.getRootNode() as Document | ShadowRoot).activeElement);
      if (lost && anchor.isConnected) anchor.focus({ preventScroll: true });
    };
  }, [anchor]);
  useLayoutEffect(place);

  useEffect(() => {
    const own = new AbortController();
    const outside = (event: Event) =>
      event.composedPath().some((each: any) => [ref.current, anchor, keep].includes(each)) ||
      close();
    const scrolled = (event: Event) => ref.current?.contains(event.target as Node) || place();
    const { signal } = own;
    document.addEventListener("pointerdown", outside, { capture: true, signal });
    addEventListener("scroll", scrolled, { capture: true, signal });
    addEventListener("resize", place, { signal });
    return () => own.abort();
  });

  const keys = (event: KeyboardEvent) => {
    onKeyDown?.(event);
    const { form } = event.target as HTMLInputElement;
    // Enter in a form does nothing by itself inside JupyterLab's outputs.
    if (event.key === "Enter" && form && (event.target as HTMLElement).matches("input"))
      event.preventDefault(), form.requestSubmit();
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.preventDefault();
    event.stopPropagation();
    close();
  };
  return (
    <div
      ref={ref}
      popover="manual"
      class={`jf-popover ${className}`}
      role={role}
      aria-label={label}
      data-jf={hook}
      onKeyDown={keys}
    >
      {children}
    </div>
  );
}

/** * One entry: a line ("-"), a heading, or something to choose; `checked` makes a tick, `stay` leaves the menu open. */
export type MenuItem =
  | "-"
  | { head: string }
  | {
      label: string;
      small?: string;
      icon?: IconName;
      jf?: string;
      key?: string;
      checked?: boolean;
      off?: boolean;
      stay?: boolean;
      click: () => void;
    };

export function Menu({
  anchor,
  close,
  label,
  items,
  width,
  right,
}: {
  anchor: HTMLElement;
  close: () => void;
  label: string;
  items: MenuItem[];
  width?: number;
  right?: boolean;
}) {
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Tab") close();
    const menu = event.currentTarget as HTMLElement;
    const entries = [...menu.querySelectorAll("[role^=menuitem]")].filter(
      (each) => getComputedStyle(each).display !== "none",
    ) as HTMLElement[];
    const at = entries.findIndex((each) => each.matches(":focus"));
    const go = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: entries.length - 1 }[event.key];
    if (go === undefined || !entries.length) return;
    event.preventDefault();
    entries[(go + entries.length) % entries.length].focus();
  };
  return (
    <Popover
      anchor={anchor}
      close={close}
      label={label}
      role="menu"
      class="jf-menu"
      width={width}
      right={right}
      onKeyDown={keys}
    >
      {items.map((item) => {
        if (item === "-") return <hr role="separator" />;
        if ("head" in item)
          return (
            <div class="jf-ph" role="presentation">
              {item.head}
            </div>
          );
        const ticked = item.checked !== undefined;
        return (
          <button
            type="button"
            tabindex={-1}
            role={ticked ? "menuitemcheckbox" : "menuitem"}
            data-jf={item.jf}
            aria-checked={item.checked}
            aria-disabled={item.off ? "true" : undefined}
            onClick={() => item.off || (item.stay || close(), item.click())}
          >
            {item.icon && <Icon name={item.icon} />}
            {ticked && (
              <span class="jf-check">
                <Icon name="check" size={12} />
              </span>
            )}
            <span>
              {item.label}
              {item.small && <small>{item.small}</small>}
            </span>
            {item.key && <kbd class="is-key">{item.key}</kbd>}
          </button>
        );
      })}
    </Popover>
  );
}

/** Ask for a name to save under; `save` gives the name that is taken, for which the button says Replace, or "". */
export function NameForm({
  anchor,
  close,
  title,
  label,
  hook,
  start = "",
  taken,
  save,
}: {
  anchor: HTMLElement;
  close: () => void;
  title: string;
  label: string;
  hook: string;
  start?: string;
  taken: string[];
  save: (name: string, replace: boolean) => Promise<string>;
}) {
  const [name, setName] = useState(start);
  const [trouble, setTrouble] = useState("");
  const [exists, setExists] = useState(taken);
  const trimmed = name.trim();
  const replace = exists.includes(trimmed);
  const submit = (event: Event) => {
    event.preventDefault();
    if (!trimmed) return setTrouble("Enter a name.");
    save(trimmed, replace).then(
      (found) => found && setExists([...exists, found]),
      (error) => setTrouble(error.message),
    );
  };
  return (
    <Popover anchor={anchor} close={close} label={title} role="dialog" width={296} right>
      <form class="jf-form2" onSubmit={submit}>
        <h3>{title}</h3>
        <label>
          {label}
          <div class="jf-box">
            <input
              data-jf={`${hook.split("-")[0]}-name`}
              spellcheck={false}
              maxlength={200}
              value={name}
              onInput={(event: any) => (setName(event.currentTarget.value), setTrouble(""))}
            />
          </div>
        </label>
        {(trouble || replace) && (
          <p class="jf-err" role="alert">
            <Icon name="err" size={14} />
            <span>{trouble || `${trimmed} already exists.`}</span>
          </p>
        )}
        <button type="submit" class="jf-btn is-main" data-jf={`${hook}-now`}>
          {replace ? "Replace" : "Save"}
        </button>
      </form>
    </Popover>
  );
}
