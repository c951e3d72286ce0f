import { useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { clamp } from "../chart/scales";
import { count, plural } from "../core/format";
import { Button, Icon } from "../core/icons";
import type * as P from "../core/protocol";
import { ALL, usePanel, useResize, useUniqueId } from "../core/state";
import { FilterBox, filterText, isNumber, Summary } from "./filters";
/** a row of the view, and the place of a column among the shown ones */
export type Cell = { row: number; at: number };

const ROW = 28;
/** Rows of a page; columns of one. */
const PAGE = 40;
const WIDE = 60;
/** Browsers give up above some 16,000,000 pixels; beyond this height the scroll bar stands for shares of the rows. */
const TALLEST = 8_000_000;
const UNKNOWN = 112;
const AHEAD = 6;

/** The pages of one view that have come, and those that are on their way. */
class Pages {
  readonly held = new Map<string, (string | null)[][]>();
  readonly asked = new Set<string>();
  readonly sums: Record<string, string> = {};

  constructor(
    readonly query: P.TableQuery,
    public total: number,
  ) {}

  put(page: P.TablePage) {
    this.total = page.total;
    Object.assign(this.sums, page.sums);
    const at = `${page.from / PAGE}:${Math.floor((page.columns[0] ?? 0) / WIDE)}`;
    this.held.delete(at);
    this.held.set(at, page.rows);
    // Whoever scrolls through millions of rows holds some thousands.
    if (this.held.size > 120) {
      const [oldest] = this.held.keys();
      this.held.delete(oldest);
      this.asked.delete(oldest);
    }
  }

  /** The text of a cell; `undefined` while it is on its way. */
  cell(row: number, at: number) {
    return this.held.get(`${Math.floor(row / PAGE)}:${Math.floor(at / WIDE)}`)?.[row % PAGE]?.[
      at % WIDE
    ];
  }
}

export function Grid({ result }: { result: P.ResultView }) {
  const { ask, tell, live, query, setQuery, place, setPlace, copy, toast, announce } = usePanel();
  const { table, number: run } = result;
  const off = live === "gone";
  const id = useUniqueId();
  const [, redraw] = useReducer((n: number) => n + 1, 0);
  const grid = useRef<HTMLDivElement | null>(null);
  const columns = useRef<Map<number, P.ColumnView>>(
    new Map(table.columns.map((each) => [each.at, each])),
  );
  const asked = useRef<Set<number>>(new Set());
  const reading = useRef(false);
  const pages = useRef<Pages | null>(null);
  if (!pages.current) {
    pages.current = new Pages(ALL, table.rows);
    pages.current.put(table.page);
    pages.current.asked.add("0:0");
  }
  const turn = useRef(0);
  /** What was asked for last: the next click adds to it, though its page may be on its way. */
  const wanted = useRef(pages.current.query);
  // Not states: keys and wheels may come faster than pictures.
  const now = useRef({ top: place.top, cell: null as Cell | null, anchor: null as Cell | null });
  const { top, cell, anchor } = now.current;
  const put = (more: Partial<typeof now.current>) => {
    Object.assign(now.current, more);
    redraw(undefined);
  };
  const [left, setLeft] = useState(place.left);
  const [size, setSize] = useState({ width: 900, height: 400, around: 110 });
  const [widths, setWidths] = useState<Record<number, number>>({});
  const [hidden, setHidden] = useState(query.hidden);
  const [box, setBox] = useState<{ at: number; anchor: HTMLElement } | null>(null);
  const [find, setFind] = useState(query.find);
  const [code, setCode] = useState<string | null>(null);
  const typing = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const view = pages.current;
  const total = view.total;
  const nameOf = (at: number) => columns.current.get(at)?.name ?? "";
  const shown = useMemo(
    () => Array.from({ length: table.count }, (_, at) => at).filter((at) => !hidden.includes(at)),
    [table, hidden],
  );

  // Where each shown column begins; narrow tables are stretched over the whole width.
  const lefts = useMemo(() => {
    const wide = shown.map((at) => widths[at] ?? columns.current.get(at)?.width ?? UNKNOWN);
    const sum = wide.reduce((a, b) => a + b, 0);
    const free = shown.filter((at) => !(at in widths)).length;
    const more = free ? Math.max(0, (size.width - sum) / free) : 0;
    let end = 0;
    return [
      0,
      ...shown.map((at, place) => (end += Math.floor(wide[place] + (at in widths ? 0 : more)))),
    ];
  }, [shown, widths, size.width, columns.current.size]);
  const before = useRef(lefts);
  const first = Math.max(
    0,
    lefts.findIndex((_, at) => (lefts[at + 1] ?? Infinity) > left - 100),
  );
  const beyond = lefts.findIndex((each) => each > left + size.width + 100);
  const seen = shown.slice(first, beyond < 0 ? undefined : beyond);
  const across = {
    width: `${lefts[lefts.length - 1]}px`,
    paddingInlineStart: `${lefts[first]}px`,
    gridTemplateColumns: seen
      .map((_, at) => `${lefts[first + at + 1] - lefts[first + at]}px`)
      .join(" "),
  };

  const room = Math.max(ROW, size.height - size.around);
  const tall = Math.min(total * ROW, TALLEST);
  /** Rows for a pixel of the scroll bar. */
  const ratio =
    tall > room && total * ROW > TALLEST ? (total - room / ROW) / (tall - room) : 1 / ROW;
  const start = Math.max(0, Math.floor(top) - AHEAD);
  const end = Math.min(total, Math.ceil(top + room / ROW) + AHEAD);

  const goto = (row: number) => {
    const next = clamp(row, 0, Math.max(0, total - room / ROW));
    put({ top: next });
    if (grid.current) grid.current.scrollTop = next / ratio;
  };
  const scrolled = () => {
    const at = grid.current as HTMLElement;
    setLeft(at.scrollLeft);
    if (Math.abs(at.scrollTop - now.current.top / ratio) > 1) put({ top: at.scrollTop * ratio });
  };

  const groupOf = (group: number) =>
    Array.from(
      { length: Math.min(WIDE, table.count - group * WIDE) },
      (_, place) => group * WIDE + place,
    );
  /** Ask for a page, and for what is missing of what is said of columns. */
  const fetchPage = (of: Pages, block: number, group: number) => {
    const at = `${block}:${group}`;
    if (block < 0 || block * PAGE >= of.total || of.asked.has(at)) return;
    of.asked.add(at);
    ask("rows", {
      run,
      from: block * PAGE,
      to: (block + 1) * PAGE,
      columns: groupOf(group),
      query: of.query,
    }).then(
      (page) => {
        of.put(page);
        if (of === pages.current) redraw(undefined);
      },
      (error: Error) => {
        of.asked.delete(at);
        if (of === pages.current) toast(error.message);
      },
    );
  };
  useLayoutEffect(() => {
    if (off) return;
    const groups = new Set(
      [seen[0] ?? 0, seen[seen.length - 1] ?? 0].map((at) => Math.floor(at / WIDE)),
    );
    // What is seen, and the next page.
    const [from, to] = [Math.floor(top / PAGE), Math.floor((top + room / ROW + PAGE / 2) / PAGE)];
    for (const group of groups)
      for (let block = from; block <= to; block++) fetchPage(view, block, group);
    // Of many rows, a summary takes a second: one column after the other.
    const missing = seen
      .filter((at) => !columns.current.get(at)?.summary && !asked.current.has(at))
      .slice(0, table.rows > 2_000_000 ? 1 : WIDE);
    if (!missing.length || reading.current) return;
    for (const at of missing) asked.current.add(at);
    reading.current = true;
    void tell(
      ask("columns", { run, columns: missing })
        .then((reply) => {
          for (const each of reply.columns) columns.current.set(each.at, each);
        })
        .finally(() => ((reading.current = false), redraw(undefined))),
    );
  });

  /** Show another view: as soon as its first page is here. its first row in sight */
  const narrow = async (next: P.TableQuery, to: number = 0) => {
    const mine = ++turn.current;
    const group = Math.floor((seen[0] ?? 0) / WIDE);
    wanted.current = next;
    const page = await ask("rows", {
      run,
      from: 0,
      to: PAGE,
      columns: groupOf(group),
      query: next,
    }).catch((error) => {
      if (mine === turn.current) wanted.current = (pages.current as Pages).query;
      throw error;
    });
    if (mine !== turn.current) return;
    const made = new Pages(next, page.total);
    made.put(page);
    made.asked.add(`0:${group}`);
    pages.current = made;
    put({ top: to, anchor: null, cell: now.current.cell && { ...now.current.cell, row: 0 } });
    setQuery(next);
    announce(`${count(page.total)} of ${count(table.rows)} rows`);
  };
  // Drawn again after it was away, with a query that is still that of the chart.
  useLayoutEffect(() => {
    if (JSON.stringify(query) !== JSON.stringify(view.query)) void tell(narrow(query, top));
  }, []);
  useLayoutEffect(
    () =>
      void (
        grid.current && Object.assign(grid.current, { scrollTop: top / ratio, scrollLeft: left })
      ),
    [view, size.height, size.width],
  );
  useLayoutEffect(() => setPlace(top, left), [top, left]);
  useLayoutEffect(() => {
    if (code === null || off) return;
    let stale = false;
    void tell(
      ask("table_code", { run, query: view.query }).then((reply) => stale || setCode(reply.code)),
    );
    return () => void (stale = true);
  }, [code === null, JSON.stringify(view.query)]);
  useResize(grid, ({ children, clientWidth: width, clientHeight: height }) => {
    const [head, , foot] = [...children] as HTMLElement[];
    if (width) setSize({ width, height, around: head.offsetHeight + (foot?.offsetHeight ?? 0) });
  });
  useLayoutEffect(() => () => clearTimeout(typing.current), []);
  /** Where a pixel stands for many rows, the wheel still moves by rows. */
  const wheel = (event: WheelEvent) => {
    if (ratio === 1 / ROW || event.shiftKey || !event.deltaY) return;
    event.preventDefault();
    goto(now.current.top + event.deltaY / (event.deltaMode ? 1 : ROW));
  };

  const sort = (at: number, adds: boolean) => {
    const now = wanted.current.sort.find((each) => each.at === at);
    const down = isNumber(columns.current.get(at));
    const next = !now
      ? [{ at, descending: down }]
      : now.descending === down
        ? [{ at, descending: !down }]
        : [];
    const sorted = adds
      ? now && next.length
        ? wanted.current.sort.map((each) => (each.at === at ? next[0] : each))
        : [...wanted.current.sort.filter((each) => each.at !== at), ...next]
      : next;
    void tell(narrow({ ...wanted.current, sort: sorted.slice(0, 8) }));
  };
  const filter = (at: number, next: P.Filter | null) =>
    narrow({
      ...wanted.current,
      filters: [
        ...wanted.current.filters.filter((each) => each.at !== at),
        ...(next ? [next] : []),
      ],
    });
  const search = (text: string) => {
    setFind(text);
    clearTimeout(typing.current);
    typing.current = setTimeout(
      () => void tell(narrow({ ...wanted.current, find: text, hidden })),
      200,
    );
  };
  /** A search finds what is shown. */
  const hide = (next: number[]) => {
    setHidden(next);
    if (wanted.current.find) void tell(narrow({ ...wanted.current, hidden: next }));
  };
  const clear = () => {
    setFind("");
    void tell(narrow({ ...wanted.current, filters: [], find: "" }));
  };

  const move = (to: Cell, selects: boolean) => {
    const next = { row: clamp(to.row, 0, total - 1), at: clamp(to.at, 0, shown.length - 1) };
    const { top, cell, anchor } = now.current;
    put({ cell: next, anchor: selects ? (anchor ?? cell ?? next) : null });
    const visible = Math.floor(room / ROW);
    if (next.row < top) goto(next.row);
    else if (next.row > top + visible - 1) goto(next.row - room / ROW + 1);
    reveal(next.at);
  };
  const reveal = (place: number) =>
    grid.current &&
    (grid.current.scrollLeft = Math.min(
      lefts[place],
      Math.max(lefts[place + 1] - grid.current.clientWidth, grid.current.scrollLeft),
    ));
  // Columns are as wide as they are once more is known of them: a cell that was in sight stays there.
  useLayoutEffect(() => {
    const [was, place] = [before.current, now.current.cell?.at ?? NaN];
    if (was[place] >= left && was[place + 1] <= left + size.width) reveal(place);
  }, [columns.current.size]);
  useLayoutEffect(() => void (before.current = lefts));
  /** The selected rows and columns, or the cell. */
  const chosen = () => {
    const { cell, anchor } = now.current;
    const [one, two] = [cell ?? { row: 0, at: 0 }, anchor ?? cell ?? { row: 0, at: 0 }];
    return {
      from: Math.min(one.row, two.row),
      to: Math.max(one.row, two.row) + 1,
      left: Math.min(one.at, two.at),
      right: Math.max(one.at, two.at),
    };
  };
  const copied = ({ from, to, left: start2, right } = chosen()) => {
    const columns = shown.slice(start2, right + 1);
    const names =
      now.current.anchor !== null && to - from === total && columns.length === shown.length; // of all cells
    return tell(
      ask("copy", { run, from, to, columns, query: view.query, names }).then((reply) =>
        copy(reply.text),
      ),
    );
  };
  const keys = (event: KeyboardEvent) => {
    if (event.target !== grid.current || !total) return;
    const control = event.ctrlKey || event.metaKey;
    const { top, cell, anchor } = now.current;
    const here = cell ?? { row: Math.ceil(top), at: 0 };
    const by = Math.max(1, Math.floor(room / ROW) - 1);
    const step = {
      ArrowDown: [1, 0],
      ArrowUp: [-1, 0],
      ArrowRight: [0, 1],
      ArrowLeft: [0, -1],
      PageDown: [by, 0],
      PageUp: [-by, 0],
    }[event.key];
    if (event.altKey && step?.[1]) widen(shown[here.at], step[1]);
    else if (step && !event.altKey)
      move(cell ? { row: here.row + step[0], at: here.at + step[1] } : here, event.shiftKey);
    else if (event.key === "Home") move({ row: control ? 0 : here.row, at: 0 }, event.shiftKey);
    else if (event.key === "End")
      move({ row: control ? total - 1 : here.row, at: shown.length - 1 }, event.shiftKey);
    else if (event.key === "Enter" && !control && cell)
      void copied({ from: cell.row, to: cell.row + 1, left: cell.at, right: cell.at });
    else if (control && event.key.toLowerCase() === "c" && cell) void copied();
    else if (control && event.key.toLowerCase() === "a")
      put({ anchor: { row: 0, at: 0 }, cell: { row: total - 1, at: shown.length - 1 } });
    else if (event.key === "Escape" && anchor) put({ anchor: null });
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const pick = (event: MouseEvent) => {
    const at = (event.target as HTMLElement).closest(".jf-td") as HTMLElement | null;
    if (!at) return;
    const to = { row: Number(at.dataset.r), at: Number(at.dataset.c) };
    put({ cell: to, anchor: event.shiftKey ? (anchor ?? cell ?? to) : null });
  };
  const setWidth = (at: number, wide: number) =>
    setWidths((before) => ({ ...before, [at]: clamp(wide, 48, 800) }));
  const widen = (at: number, by: number) => {
    const place = shown.indexOf(at);
    const wide = clamp(lefts[place + 1] - lefts[place] + 24 * by, 48, 800);
    setWidth(at, wide);
    announce(`${nameOf(at)} is ${wide} pixels wide`);
  };
  const resize = (event: PointerEvent, at: number) => {
    const handle = event.currentTarget as HTMLElement;
    const from = (handle.parentElement as HTMLElement).offsetWidth - event.clientX;
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    handle.onpointermove = (moved) => setWidth(at, from + moved.clientX);
    handle.onpointerup = () => void (handle.onpointermove = null);
  };

  const held =
    cell &&
    cell.row >= start &&
    cell.row < end &&
    cell.at >= first &&
    cell.at < first + seen.length;
  const area = anchor && chosen();
  const filtered = total < table.rows || view.query.filters.length > 0 || view.query.find;
  const told = filtered ? `${count(total)} of ${plural(table.rows, "row")}` : plural(total, "row");
  const open = box && columns.current.get(box.at);
  const sums = Object.keys(view.sums).length > 0;
  return (
    <>
      <div class="jf-sub">
        <label class="jf-find">
          <Icon name="search" size={14} />
          <input
            data-jf="find"
            aria-label="Find in the rows"
            placeholder="Find"
            title="Texts and dates that contain it; numbers that equal it"
            value={find}
            disabled={off}
            onInput={(event: any) => search(event.target.value)}
          />
        </label>
        <span class="is-chips">
          {view.query.filters.map((each) => (
            <Chip
              key={each.at}
              text={filterText(each, columns.current.get(each.at))}
              hook={nameOf(each.at)}
              label="Remove filter"
              remove={() => void tell(filter(each.at, null))}
              off={off}
            />
          ))}
          {hidden.length > 0 && (
            <Chip
              text={
                hidden.length === 1
                  ? `${nameOf(hidden[0])} is hidden`
                  : `${hidden.length} columns are hidden`
              }
              hook="hidden"
              label="Show"
              remove={() => hide([])}
            />
          )}
          {view.query.filters.length > 1 && total > 0 && (
            <button
              type="button"
              class="jf-inline"
              data-jf="remove-filters"
              disabled={off}
              onClick={clear}
            >
              Remove all filters
            </button>
          )}
        </span>
        <span class="jf-quiet jf-num" data-jf="row-count">
          {filtered && told}
        </span>
        <Button
          kind="is-link is-first"
          icon="code"
          label="View as code"
          aria="View as code"
          small
          data-jf="view-code"
          aria-expanded={code !== null}
          disabled={off}
          onClick={() => setCode(code === null ? "" : null)}
        />
      </div>
      {code !== null && (
        <div class="jf-codeline">
          <code data-jf="table-code">{code}</code>
          <Button
            icon="copy"
            label="Copy"
            data-jf="copy-table-code"
            onClick={() => void copy(code)}
          />
        </div>
      )}
      <div
        class="jf-grid"
        role="grid"
        tabindex={0}
        aria-label="Rows"
        data-jf="grid"
        ref={grid}
        aria-rowcount={total + 1}
        aria-colcount={shown.length}
        aria-multiselectable="true"
        aria-activedescendant={held ? `${id}-cell` : undefined}
        onScroll={scrolled}
        onWheel={wheel}
        onKeyDown={keys}
        onMouseDown={pick}
      >
        <div role="rowgroup" class="jf-headgroup">
          <div class="jf-thead" role="row" aria-rowindex={1} style={across}>
            {seen.map((at, place) => {
              const column = columns.current.get(at);
              const order = view.query.sort.findIndex((each) => each.at === at);
              const sorted = view.query.sort[order];
              const on = view.query.filters.some((each) => each.at === at);
              const name = column?.name ?? "…";
              return (
                <div
                  key={at}
                  class={`jf-th ${on ? "is-marked" : ""}`}
                  role="columnheader"
                  aria-colindex={first + place + 1}
                  aria-sort={sorted ? (sorted.descending ? "descending" : "ascending") : undefined}
                >
                  <div class="jf-th-top">
                    <button
                      type="button"
                      class="jf-sort"
                      data-jf={`sort:${name}`}
                      title={`${name}. Shift+click adds to the order.`}
                      aria-label={`${name}: sort`}
                      disabled={off}
                      onClick={(event: MouseEvent) => sort(at, event.shiftKey)}
                    >
                      <span>{name}</span>
                      {sorted && (
                        <>
                          <Icon name={sorted.descending ? "down" : "up"} size={12} />
                          {view.query.sort.length > 1 && <small>{order + 1}</small>}
                        </>
                      )}
                    </button>
                    <span class="jf-th-tools">
                      <button
                        type="button"
                        class={`jf-mini ${on ? "is-on" : ""}`}
                        data-jf={`filter:${name}`}
                        aria-label={`${name}: filter`}
                        aria-haspopup="dialog"
                        aria-expanded="false"
                        disabled={off || !column}
                        onClick={(event: any) =>
                          setBox(box?.at === at ? null : { at, anchor: event.currentTarget })
                        }
                      >
                        <Icon name="funnel" size={14} fill={on} />
                      </button>
                    </span>
                  </div>
                  {column && <Summary column={column} />}
                  <i
                    class="jf-grip"
                    data-jf={`resize:${name}`}
                    onPointerDown={(event: PointerEvent) => resize(event, at)}
                  />
                </div>
              );
            })}
          </div>
        </div>
        <div
          role="rowgroup"
          class="jf-rows"
          style={{ height: `${total ? tall : 120}px`, width: across.width }}
        >
          {total === 0 && (
            <div class="jf-blank" role="row" style={{ width: `${size.width}px` }}>
              <div role="gridcell">
                {table.rows ? (
                  <>
                    <b>No row matches the filters. </b>
                    <button
                      type="button"
                      class="jf-inline"
                      data-jf="remove-filters"
                      onClick={clear}
                    >
                      Remove all filters
                    </button>
                  </>
                ) : (
                  <b>The result has no rows.</b>
                )}
              </div>
            </div>
          )}
          {Array.from({ length: Math.max(0, end - start) }, (_, line) => {
            const row = start + line;
            return (
              <div
                key={row}
                class="jf-tr"
                role="row"
                aria-rowindex={row + 2}
                style={{ ...across, top: `${Math.round(top / ratio + (row - top) * ROW)}px` }}
              >
                {seen.map((at, place) => {
                  const text = view.cell(row, at);
                  const on = cell?.row === row && cell.at === first + place;
                  const within =
                    area &&
                    row >= area.from &&
                    row < area.to &&
                    first + place >= area.left &&
                    first + place <= area.right;
                  const column = columns.current.get(at);
                  const mark = `${isNumber(column) ? "is-r" : ""} ${text === null ? "is-null" : ""} ${column?.type === "percent" && text?.startsWith("−") ? "is-neg" : ""} ${on ? "is-on" : ""} ${within ? "is-sel" : ""}`;
                  return (
                    <div
                      key={at}
                      class={`jf-td ${mark}`}
                      role="gridcell"
                      id={on ? `${id}-cell` : undefined}
                      aria-colindex={first + place + 1}
                      aria-selected={within ? "true" : undefined}
                      data-r={row}
                      data-c={first + place}
                    >
                      {text === null ? "–" : text}
                    </div>
                  );
                })}
              </div>
            );
          })}
        </div>
        {sums && (
          <div role="rowgroup" class="jf-footgroup">
            <span class="jf-tf is-label" aria-hidden="true">
              Sum
            </span>
            <div class="jf-tfoot" role="row" aria-label="Sum" data-jf="sums" style={across}>
              {seen.map((at) => {
                const sum = view.sums[at];
                return (
                  <div
                    key={at}
                    class={`jf-tf ${isNumber(columns.current.get(at)) ? "is-r" : ""}`}
                    role="gridcell"
                    data-jf={`sum:${nameOf(at)}`}
                    title={sum}
                  >
                    {sum}
                  </div>
                );
              })}
            </div>
          </div>
        )}
      </div>
      {box && open && !off && (
        <FilterBox
          key={box.at}
          anchor={box.anchor}
          column={open}
          filter={wanted.current.filters.find((each) => each.at === box.at)}
          run={run}
          found={told}
          apply={(next: P.Filter | null) => filter(box.at, next)}
          widen={(by: number) => widen(box.at, by)}
          hide={() => hide([...hidden, box.at])}
          close={() => setBox(null)}
        />
      )}
    </>
  );
}

function Chip({
  text,
  hook,
  label,
  remove,
  off = false,
}: {
  text: string;
  hook: string;
  label: string;
  remove: () => void;
  off?: boolean;
}) {
  return (
    <span class="jf-chip" data-jf={`chip:${hook}`}>
      <span title={text}>{text}</span>
      <button
        type="button"
        data-jf={`chip-remove:${hook}`}
        aria-label={`${label}: ${text}`}
        disabled={off}
        onClick={remove}
      >
        <Icon name="x" size={12} />
      </button>
    </span>
  );
}
