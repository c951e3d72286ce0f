import type { TargetedEvent } from "preact";
import { useState } from "preact/hooks";
import { Icon } from "../core/icons";
import type * as P from "../core/protocol";
import type { OpenFilter } from "./grid";
import { Grip } from "./grip";
import { Summary } from "./summary";
import type { GridState } from "./useGrid";

export interface HeadProps {
  grid: GridState;
  open: OpenFilter | null;
  setOpen: (open: OpenFilter | null) => void;
}

/** Milliseconds after which a column that came into sight is drawn. */
const DRAWN = 40;

/** The place that a key leads to. */
function stepped(key: string, at: number, last: number) {
  const places = new Map([
    ["ArrowRight", Math.min(at + 1, last)],
    ["ArrowLeft", Math.max(at - 1, 0)],
    ["Home", 0],
    ["End", last],
  ]);
  return places.get(key);
}

/** The headers of the columns in sight. */
export function Head({ grid, open, setOpen }: HeadProps) {
  const { layout, selection } = grid;
  const [stop, setStop] = useState(0);
  const isDrawn = layout.cells.some(({ place }) => place === stop);
  const focusable = isDrawn ? stop : layout.cells[0]?.place;
  /** One stop of the Tab key: arrows move between the columns, Alt+↓ opens the filter. */
  const keys = (event: KeyboardEvent) => {
    const head = event.currentTarget as HTMLElement;
    const focus = (place: number, part: string) =>
      head.querySelector<HTMLElement>(`[data-c="${place}"] ${part}`);
    const place = stepped(event.key, focusable, layout.shown.length - 1);
    if (event.altKey && event.key === "ArrowDown") focus(focusable, ".jf-mini")?.click();
    else if (place === undefined || event.altKey) return;
    else {
      setStop(place);
      layout.reveal(place);
      setTimeout(() => focus(place, ".jf-sort")?.focus({ preventScroll: true }), DRAWN);
    }
    event.preventDefault();
  };
  return (
    <div role="rowgroup" class="jf-headgroup" onKeyDown={keys}>
      <div class="jf-thead" role="row" aria-rowindex={1} style={layout.across}>
        {layout.cells.map((cell) => (
          <Header
            key={cell.at}
            grid={grid}
            cell={cell}
            isStop={cell.place === focusable}
            open={open}
            setOpen={setOpen}
          />
        ))}
        <div
          class="jf-no"
          role="presentation"
          aria-hidden="true"
          title="Select all"
          data-jf="select-cells"
          onClick={selection.selectAll}
        />
      </div>
    </div>
  );
}

interface HeaderProps extends HeadProps {
  cell: GridState["layout"]["cells"][number];
  /** Whether the Tab key stops here. */
  isStop: boolean;
}

function Header({ grid, cell, isStop, open, setOpen }: HeaderProps) {
  const { at, place, style, pin } = cell;
  const { columns, layout, pages } = grid;
  const { sort, filters } = pages.query;
  const column = columns.get(at);
  const name = column?.name ?? "…";
  const order = sort.findIndex((sorted) => sorted.at === at);
  const isFiltered = filters.some((filter) => filter.at === at);
  return (
    <div
      class={`jf-th ${pin} ${isFiltered ? "is-marked" : ""}`}
      style={style}
      role="columnheader"
      aria-colindex={place + 1}
      data-c={place}
      aria-sort={directionOf(sort[order])}
    >
      <div class="jf-th-top">
        <Sort grid={grid} at={at} name={name} said={column?.said} order={order} isStop={isStop} />
        <Funnel
          at={at}
          name={name}
          isFiltered={isFiltered}
          off={grid.off || !column}
          open={open}
          setOpen={setOpen}
        />
      </div>
      {column && <Summary grid={grid} column={column} />}
      <Grip name={name} setWidth={(width) => layout.setWidth(at, width)} />
    </div>
  );
}

function directionOf(sorted: P.TableQuery["sort"][number] | undefined) {
  if (!sorted) return undefined;
  return sorted.descending ? "descending" : "ascending";
}

interface SortProps {
  grid: GridState;
  at: number;
  name: string;
  said: string | undefined;
  order: number;
  isStop: boolean;
}

/** The name of a column, which sorts by it. */
function Sort({ grid, at, name, said, order, isStop }: SortProps) {
  const { off, pages, query } = grid;
  const { sort } = pages.query;
  const sorted = sort[order];
  const sortBy = (event: MouseEvent) => {
    if (!event.ctrlKey && !event.metaKey) query.sort(at, event.shiftKey);
  };
  const about = said ? `${name}\n${said}\n` : `${name}. `;
  return (
    <button
      type="button"
      class="jf-sort"
      tabindex={isStop ? 0 : -1}
      data-jf={`sort:${name}`}
      title={`${about}Shift+click adds to the order, Ctrl+click selects.`}
      aria-label={`${name}: sort`}
      disabled={off}
      onClick={sortBy}
    >
      <span>{name}</span>
      {sorted && <Icon name={sorted.descending ? "down" : "up"} size={12} />}
      {sorted && sort.length > 1 && <small>{order + 1}</small>}
    </button>
  );
}

interface FunnelProps extends Omit<HeadProps, "grid"> {
  at: number;
  name: string;
  isFiltered: boolean;
  off: boolean;
}

/** Opens the filter of a column. */
function Funnel({ at, name, isFiltered, off, open, setOpen }: FunnelProps) {
  const toggle = ({ currentTarget: anchor }: TargetedEvent<HTMLElement>) =>
    setOpen(open?.at === at ? null : { at, anchor });
  return (
    <span class="jf-th-tools">
      <button
        type="button"
        tabindex={-1}
        class={`jf-mini ${isFiltered ? "is-on" : ""}`}
        data-jf={`filter:${name}`}
        aria-label={`${name}: filter`}
        aria-haspopup="dialog"
        aria-expanded="false"
        disabled={off}
        onClick={toggle}
      >
        <Icon name="funnel" size={14} fill={isFiltered} />
      </button>
    </span>
  );
}
