import type { TargetedEvent } from "preact";
import { Icon } from "../core/icons";
import type * as P from "../core/protocol";
import type { OpenFilter } from "./grid";
import { Grip } from "./grip";
import { Summary } from "./summary";
import type { GridState } from "./useGrid";

interface HeadProps {
  grid: GridState;
  open: OpenFilter | null;
  setOpen: (open: OpenFilter | null) => void;
}

/** The headers of the columns in sight. */
export function Head({ grid, open, setOpen }: HeadProps) {
  const { layout, selection } = grid;
  return (
    <div role="rowgroup" class="jf-headgroup">
      <div class="jf-thead" role="row" aria-rowindex={1} style={layout.across}>
        {layout.cells.map((cell) => (
          <Header key={cell.at} grid={grid} cell={cell} open={open} setOpen={setOpen} />
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
}

function Header({ grid, cell: { at, place, style, pin }, open, setOpen }: HeaderProps) {
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
        <Sort grid={grid} at={at} name={name} said={column?.said} order={order} />
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
}

/** The name of a column, which sorts by it. */
function Sort({ grid, at, name, said, order }: SortProps) {
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

interface FunnelProps {
  at: number;
  name: string;
  isFiltered: boolean;
  off: boolean;
  open: OpenFilter | null;
  setOpen: (open: OpenFilter | null) => void;
}

/** Opens the filter of a column. */
function Funnel({ at, name, isFiltered, off, open, setOpen }: FunnelProps) {
  const toggle = ({ currentTarget: anchor }: TargetedEvent<HTMLElement>) =>
    setOpen(open?.at === at ? null : { at, anchor });
  return (
    <span class="jf-th-tools">
      <button
        type="button"
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
