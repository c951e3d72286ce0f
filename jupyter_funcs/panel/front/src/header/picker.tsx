import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { count, plural } from "../core/format";
import { Icon } from "../core/icons";
import { usePanel } from "../core/panelcontext";
import { Popover } from "../core/popover";
import { useUniqueId } from "../core/useUniqueId";
import { FunctionList } from "./functionlist";
import type { OpenedProps } from "./opened";
import { type Found, type FoundFunction, useSearch } from "./useSearch";

/** How far a page key goes. */
const PAGE = 8;

/** Search in names, descriptions, parameters and options. */
export function Picker({ anchor, close }: OpenedProps) {
  const { view, ask, choose, tell, announce } = usePanel();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const { found, rows, again, more } = useSearch(query);
  const id = useUniqueId();
  const trimmed = query.trim();
  const marked: FoundFunction | undefined = rows[at];

  const pick = (row: FoundFunction) => {
    close();
    if (row.id !== view?.function?.id) choose(row.id);
  };
  /** Enter was pressed before what matches was found. */
  const pickFirst = async () => {
    const { sections } = await ask("functions", { query: trimmed, from: 0 });
    if (sections.length) pick(sections[0].functions[0]);
  };
  const star = async (row: FoundFunction) => {
    await tell(ask("favourite", { function: row.id, on: !row.favourite }));
    const said = row.favourite ? `Removed ${row.name} from` : `Added ${row.name} to`;
    announce(`${said} favourites`);
    await again();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isControl = event.ctrlKey || event.metaKey;
    const next = nextOf(event.key, at, rows.length);
    if (next !== undefined) setAt(next);
    else if (event.key === "Enter" && (found?.query ?? "") !== trimmed) void tell(pickFirst());
    else if (event.key === "Enter" && marked) pick(marked);
    else if (event.key.toLowerCase() === "d" && isControl && marked) void star(marked);
    else if (event.key === "Escape" && query) setQuery("");
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onInput = ({ currentTarget }: TargetedEvent<HTMLInputElement>) => {
    setQuery(currentTarget.value);
    setAt(0);
  };
  return (
    <Popover
      anchor={anchor}
      close={close}
      label="Choose a function"
      role="dialog"
      class="jf-picking"
      width={480}
    >
      <SearchBox
        id={id}
        marked={rows.length ? `${id}-${at}` : undefined}
        query={query}
        onInput={onInput}
        onKeyDown={onKeyDown}
      />
      <FunctionList
        id={id}
        found={found}
        at={at}
        mark={setAt}
        pick={pick}
        star={star}
        more={more}
      />
      <Foot found={found} />
    </Popover>
  );
}

/** The place that a key leads to, round and round. */
function nextOf(key: string, at: number, rows: number) {
  if (!rows) return undefined;
  if (key === "ArrowDown") return (at + 1) % rows;
  if (key === "ArrowUp") return (at - 1 + rows) % rows;
  if (key === "PageDown") return Math.min(at + PAGE, rows - 1);
  if (key === "PageUp") return Math.max(at - PAGE, 0);
  return undefined;
}

interface SearchBoxProps {
  id: string;
  /** The id of the option that Enter takes. */
  marked: string | undefined;
  query: string;
  onInput: (event: TargetedEvent<HTMLInputElement>) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function SearchBox({ id, marked, query, onInput, onKeyDown }: SearchBoxProps) {
  return (
    <div class="jf-search">
      <Icon name="search" />
      <input
        data-jf="picker-search"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-label="Search functions"
        aria-autocomplete="list"
        autocomplete="off"
        spellcheck={false}
        aria-activedescendant={marked}
        placeholder="Search functions, fields and values"
        maxlength={200}
        value={query}
        onInput={onInput}
        onKeyDown={onKeyDown}
      />
    </div>
  );
}

function foundText({ query, total, found }: Found) {
  const all = plural(total, "function");
  return query ? `${count(found)} of ${all}` : all;
}

function Foot({ found }: { found: Found | null }) {
  return (
    <div class="jf-pf">
      <span>{found && foundText(found)}</span>
      <span class="jf-gap" />
      <span class="is-keys">
        <kbd>↑↓</kbd> move <kbd>Enter</kbd> open <kbd>Ctrl D</kbd> favourite <kbd>Esc</kbd> close
      </span>
    </div>
  );
}
