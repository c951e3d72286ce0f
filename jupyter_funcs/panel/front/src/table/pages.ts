import type * as P from "../core/protocol";
import { ALL } from "../core/query";

/** Rows of a page. */
export const PAGE = 40;
/** Columns of a page. */
export const WIDE = 60;
/** Whoever scrolls through millions of rows holds some thousands. */
const MOST = 120;

export const blockOf = (row: number) => Math.floor(row / PAGE);
export const groupOf = (at: number) => Math.floor(at / WIDE);
const keyOf = (block: number, group: number) => `${block}:${group}`;

/** The columns of a group, of a table that has so many. */
export function columnsOf(group: number, count: number) {
  const length = Math.min(WIDE, count - group * WIDE);
  return Array.from({ length }, (_, place) => group * WIDE + place);
}

/** The pages of one view that have come, and those that are on their way. */
export class Pages {
  private readonly held = new Map<string, (string | null)[][]>();
  private readonly asked = new Set<string>();
  readonly sums: Record<string, string> = {};
  /** Of the columns' summaries, what is of the rows of this view. */
  readonly parts: Record<string, number[]> = {};
  total: number;

  constructor(
    readonly query: P.TableQuery,
    first: P.TablePage,
  ) {
    this.total = first.total;
    this.put(first);
    this.ask(0, groupOf(first.columns[0] ?? 0));
  }

  static of(table: P.TableView) {
    return new Pages(ALL, table.page);
  }

  put(page: P.TablePage) {
    this.total = page.total;
    Object.assign(this.sums, page.sums);
    Object.assign(this.parts, page.parts);
    const key = keyOf(blockOf(page.from), groupOf(page.columns[0] ?? 0));
    this.held.delete(key);
    this.held.set(key, page.rows);
    if (this.held.size <= MOST) return;
    const [oldest] = this.held.keys();
    this.held.delete(oldest);
    this.asked.delete(oldest);
  }

  /** Whether some rows may not be shown. */
  get isPart() {
    return this.query.filters.length > 0 || this.query.find !== "";
  }

  /** Whether a page is to be asked for: it is there, and neither here nor on its way. */
  lacks(block: number, group: number) {
    return block >= 0 && block * PAGE < this.total && !this.asked.has(keyOf(block, group));
  }

  ask(block: number, group: number) {
    this.asked.add(keyOf(block, group));
  }

  /** It did not come: it may be asked for again. */
  miss(block: number, group: number) {
    this.asked.delete(keyOf(block, group));
  }

  /** The text of a cell; `undefined` while it is on its way. */
  cell(row: number, at: number) {
    const rows = this.held.get(keyOf(blockOf(row), groupOf(at)));
    return rows?.[row % PAGE]?.[at % WIDE];
  }
}
