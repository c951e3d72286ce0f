import type { ComponentChildren } from "preact";
import { count } from "../core/format";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import { Listbox } from "./listbox";
import { Source } from "./source";
import type { ChooserState } from "./useChooser";
import { isVariable } from "./useTyped";

/** More options than these are worth a button that pastes a list. */
const FEW = 5;

interface DropdownProps {
  anchor: HTMLElement;
  box: HTMLElement | null;
  listId: string;
  chooser: ChooserState;
  openPaste: () => void;
}

/**
 * What opens below a combobox: the options, what takes many of them at once, and where they come
 * from.
 */
export function Dropdown({ anchor, box, listId, chooser, openPaste }: DropdownProps) {
  const { tell } = usePanel();
  const { field, many, combo, chosen, listed } = chooser;
  const { page, options, total } = listed;
  const takeAll = async (group: string) => chosen.add(await listed.all(group));
  const removeAll = async (group: string) => chosen.remove(await listed.all(group));
  const toggleGroup = (group: string, isTaken: boolean) =>
    void tell(isTaken ? removeAll(group) : takeAll(group));
  return (
    <Popover
      anchor={anchor}
      keep={box}
      close={() => combo.setOpen(false)}
      focus={false}
      width={box?.offsetWidth}
    >
      <div class="jf-drop" onMouseDown={(event) => event.preventDefault()}>
        {many && page.total > 1 && (
          <Takers chooser={chooser} takeAll={() => void tell(takeAll(""))} />
        )}
        <Listbox
          id={listId}
          chooser={chooser}
          toggleGroup={toggleGroup}
          empty={emptyText(chooser)}
        />
        {!many && total > options.length && (
          <div class="jf-pf">
            {count(options.length)} of {count(total)}: type to search
          </div>
        )}
        <Source field={field} page={page}>
          {many && page.total > FEW && (
            <Link hook={`paste:${field.name}`} click={openPaste}>
              Paste a list…
            </Link>
          )}
        </Source>
      </div>
    </Popover>
  );
}

/** What a list without options says. */
function emptyText({ combo, listed: { page } }: ChooserState) {
  if (page.asking) return "Listing…";
  if (isVariable(combo.query)) return "Enter uses your variable.";
  return page.total ? "No match" : page.note || "Nothing to choose";
}

/** How many are chosen; all of them, or none. */
function Takers({ chooser, takeAll }: { chooser: ChooserState; takeAll: () => void }) {
  const { field, combo, chosen, listed } = chooser;
  const total = count(listed.total);
  const size = chosen.values.length;
  return (
    <div class="jf-pf is-top">
      <span>{count(size)} chosen</span>
      <span class="jf-gap" />
      <Link hook={`select-all:${field.name}`} click={takeAll}>
        {combo.text ? `Select ${total} found` : `Select all ${total}`}
      </Link>
      {size > 0 && (
        <Link hook={`clear:${field.name}`} click={() => chosen.clear()}>
          Clear
        </Link>
      )}
    </div>
  );
}

interface LinkProps {
  hook: string;
  click: () => void;
  children: ComponentChildren;
}

/** A button that the Tab key passes over: the focus stays in the box. */
const Link = ({ hook, click, children }: LinkProps) => (
  <button type="button" class="jf-btn is-link" tabindex={-1} data-jf={hook} onClick={click}>
    {children}
  </button>
);
