import { useState } from "preact/hooks";
import { count, inert, marked } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import { useReply } from "../core/useReply";
import { useUniqueId } from "../core/useUniqueId";
import type { GridState } from "./useGrid";

const STEPS = new Map([
  ["ArrowDown", 1],
  ["ArrowUp", -1],
]);

/** All columns: to search and go to, to hide and to show again. */
export function ColumnList({ grid, anchor }: { grid: GridState; anchor: HTMLElement }) {
  const { run, listFrom } = grid;
  const id = useUniqueId();
  const [text, setText] = useState("");
  const [at, mark] = useState(0);
  const [page] = useReply("named", { run, text }, [text]);
  const { columns = [], total = 0 } = page ?? {};
  const enter = useEnter(grid, text, at);
  const keys = (event: KeyboardEvent) => {
    const step = STEPS.get(event.key);
    if (step && columns.length) mark((at + step + columns.length) % columns.length);
    else if (event.key === "Enter") enter(event.shiftKey);
    else return;
    event.preventDefault();
  };
  return (
    <Popover
      anchor={anchor}
      under={anchor.closest(".jf-view")?.querySelector('[data-jf="columns"]')}
      close={() => listFrom(null)}
      label="Columns"
      role="dialog"
      width={288}
      right
    >
      <label class="jf-search">
        <Icon name="search" />
        <input
          role="combobox"
          aria-label="Go to column"
          aria-expanded="true"
          aria-controls={id}
          aria-activedescendant={columns[at] && `${id}-${at}`}
          placeholder="Go to column"
          data-jf="column-search"
          onInput={({ currentTarget }) => {
            setText(currentTarget.value);
            mark(0);
          }}
          onKeyDown={keys}
        />
      </label>
      <div class="jf-list" role="listbox" id={id} aria-label="Columns" aria-multiselectable="true">
        {columns.map((column, place) => (
          <Choice
            key={column.at}
            id={`${id}-${place}`}
            grid={grid}
            column={column}
            text={text}
            isMarked={place === at}
          />
        ))}
      </div>
      <Foot found={columns.length} total={total} />
    </Popover>
  );
}

/** Go to a column or hide it; what is typed may be newer than what is listed. */
function useEnter(grid: GridState, text: string, at: number) {
  const { ask, tell } = usePanel();
  const found = () => ask("named", { run: grid.run, text });
  return (hides: boolean) =>
    void tell(
      found().then(({ columns: { [at]: column } }) => {
        if (column && hides) toggle(grid, column.at);
        else if (column) grid.goTo(column.at);
      }),
    );
}

/** Hide a column, or show it again. */
function toggle({ hidden, hide }: GridState, at: number) {
  const others = hidden.filter((other) => other !== at);
  hide(others.length < hidden.length ? others : [...hidden, at]);
}

interface ChoiceProps {
  id: string;
  grid: GridState;
  column: { at: number; name: string };
  /** What is searched. */
  text: string;
  isMarked: boolean;
}

function Choice({ id, grid, column: { at, name }, text, isMarked }: ChoiceProps) {
  const tick = (event: Event) => {
    event.stopPropagation();
    toggle(grid, at);
  };
  return (
    <div
      id={id}
      class={`jf-opt ${isMarked ? "is-on" : ""}`}
      role="option"
      aria-selected={!grid.hidden.includes(at)}
      data-jf={`column:${name}`}
      onClick={() => grid.goTo(at)}
    >
      <span class="jf-check" title="Hide or show" onClick={tick}>
        <Icon name="check" size={12} />
      </span>
      <span class="jf-cut">{marked(inert(name), text)}</span>
    </div>
  );
}

const Foot = ({ found, total }: { found: number; total: number }) => (
  <div class="jf-pf">
    {total > found && `${count(found)} of ${count(total)} · `}
    Enter goes to it, Shift+Enter hides it
  </div>
);
