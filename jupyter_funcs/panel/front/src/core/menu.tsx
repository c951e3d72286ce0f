import { Icon, type IconName } from "./icons";
import { Popover } from "./popover";

/** Something to choose; `checked` makes a tick, `stay` leaves the menu open. */
interface MenuChoice {
  label: string;
  small?: string;
  icon?: IconName;
  jf?: string;
  key?: string;
  checked?: boolean;
  off?: boolean;
  stay?: boolean;
  click: () => void;
}

/** A line ("-"), a heading, or something to choose. */
export type MenuItem = "-" | { head: string } | MenuChoice;

interface MenuProps {
  anchor: HTMLElement;
  close: () => void;
  label: string;
  items: MenuItem[];
  width?: number;
  right?: boolean;
}

/** A menu below a button. */
export function Menu({ anchor, close, label, items, width, right }: MenuProps) {
  const keys = (event: KeyboardEvent) => {
    if (event.key === "Tab") close();
    walk(event);
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
        if ("head" in item) return <Heading text={item.head} />;
        return <Choice item={item} close={close} />;
      })}
    </Popover>
  );
}

/** Move among the entries that are shown, round and round. */
function walk(event: KeyboardEvent) {
  const menu = event.currentTarget as HTMLElement;
  const entries = [...menu.querySelectorAll<HTMLElement>("[role^=menuitem]")].filter(
    (entry) => getComputedStyle(entry).display !== "none",
  );
  const at = entries.findIndex((entry) => entry.matches(":focus"));
  const places = new Map([
    ["ArrowDown", at + 1],
    ["ArrowUp", at - 1],
    ["Home", 0],
    ["End", entries.length - 1],
  ]);
  const place = places.get(event.key);
  if (place === undefined || !entries.length) return;
  event.preventDefault();
  entries[(place + entries.length) % entries.length].focus();
}

const Heading = ({ text }: { text: string }) => (
  <div class="jf-ph" role="presentation">
    {text}
  </div>
);

function Choice({ item, close }: { item: MenuChoice; close: () => void }) {
  const isTicked = item.checked !== undefined;
  const choose = () => {
    if (item.off) return;
    if (!item.stay) close();
    item.click();
  };
  return (
    <button
      type="button"
      tabindex={-1}
      role={isTicked ? "menuitemcheckbox" : "menuitem"}
      data-jf={item.jf}
      aria-checked={item.checked}
      aria-disabled={item.off ? "true" : undefined}
      onClick={choose}
    >
      {item.icon && <Icon name={item.icon} />}
      {isTicked && (
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
}
