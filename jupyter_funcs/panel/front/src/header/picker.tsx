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
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const search = useSearch(query);
  const { found, rows } = search;
  const { pick, pickFirst, star } = useChoice(close, query.trim(), search.again);
  const id = useUniqueId();
  const marked: FoundFunction | undefined = rows[at];

  const onKeyDown = (event: KeyboardEvent) => {
    const isControl = event.ctrlKey || event.metaKey;
    const isSearched = (found?.query ?? "") === query.trim();
    const next = nextOf(event.key, at, rows.length);
    if (next !== undefined) setAt(next);
    else if (event.key === "Enter" && !isSearched) pickFirst();
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
  const list = { id, found, at, mark: setAt, pick, star, more: search.more };
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
      <FunctionList {...list} />
      <Foot found={found} />
    </Popover>
  );
}

/** What is done with a function that was found. */
function useChoice(close: () => void, query: string, again: () => Promise<void>) {
  const { view, ask, choose, tell, announce } = usePanel();
  const pick = (row: FoundFunction) => {
    close();
    if (row.id !== view?.function?.id) choose(row.id);
  };
  const first = async () => {
    const { sections } = await ask("functions", { query, from: 0 });
    if (sections.length) pick(sections[0].functions[0]);
  };
  return {
    pick,
    /** Enter was pressed before what matches was found. */
    pickFirst: () => void tell(first()),
    star: async (row: FoundFunction) => {
      await tell(ask("favourite", { function: row.id, on: !row.favourite }));
      const said = row.favourite ? `Removed ${row.name} from` : `Added ${row.name} to`;
      announce(`${said} favourites`);
      await again();
    },
  };
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
