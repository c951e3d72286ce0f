import { clamp, shortText } from "../chart/scales";
import type * as P from "../core/protocol";

const NUMBERS = new Set<string>(["money", "count", "number", "percent"]);

/** Numbers are aligned right, and sorted from the largest first. */
export const isNumber = (column?: P.ColumnView) => NUMBERS.has(column?.type ?? "");

export const isDate = ({ type }: P.ColumnView) => type === "date" || type === "datetime";

/** "0%", "<1%", "20%". */
export function percent(share: number) {
  if (share > 0 && share < 0.01) return "<1%";
  return `${Math.round(share * 100)}%`;
}

/** A shown or typed number as a number. */
export function parsed(text: string) {
  if (!text.trim()) return Number.NaN;
  return Number(text.replaceAll("−", "-").replace(/[,\s%+]/g, ""));
}

/** What orders columns: those that vary, then measures, then what is the same in all rows. */
function rankOf(column: P.ColumnView) {
  const { distinct = 0, minimum = "", maximum = "", empty = 0 } = column.summary ?? {};
  const isSame = minimum ? minimum === maximum : distinct === 1;
  if (empty === 1 || (isSame && empty === 0)) return 2;
  return isNumber(column) ? 1 : 0;
}

/** Of more columns that vary than these, the others come after the measures. */
const MOST_FIRST = 5;

/** The positions of all columns in the order in which they are shown at first. */
export function usualOrder({ columns, count, rows }: P.TableView) {
  const places = Array.from({ length: count }, (_, at) => at);
  if (columns.length < count || rows < 2) return places;
  const ranks: number[] = columns.map(rankOf);
  const others = places.filter((at) => ranks[at] === 0).slice(MOST_FIRST);
  for (const at of others) ranks[at] = 1.5;
  return places.sort((a, b) => ranks[a] - ranks[b]);
}

/** Pixels of a digit, of a comma or a point, and beside a text. */
const DIGIT = 7.7;
const POINT = 4;
const PADDING = 16;

/** A number as far as there is room: whole, or in fewer digits ("164.7B"); it is never cut. */
export function fitting(text: string, width: number, scale = 1) {
  const fits = (text: string) => {
    const points = text.match(/[.,]/g)?.length ?? 0;
    return ((text.length - points) * DIGIT + points * POINT) * scale + PADDING <= width;
  };
  if (fits(text)) return text;
  const unit = text.endsWith("%") ? "%" : "";
  const short = (digits: number) => shortText(parsed(text), "number", digits) + unit;
  return [4, 3, 2].map(short).find(fits) ?? short(1);
}

const TIME = /^\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?)?/;
/** Milliseconds of ranges whose bars are told apart by days, and by minutes. */
const DAYS = 24 * 86_400_000;
const MINUTES = 24 * 60_000;

/** A shown number, or the milliseconds of a shown time, whatever its zone. */
export function amountOf(text: string) {
  const [time] = TIME.exec(text) ?? [];
  if (!time) return parsed(text);
  return Date.parse(`${time.padEnd(16, "T00:00").replace(" ", "T")}Z`);
}

/** How many characters of a time tell the bars of a histogram apart. */
function lengthOf({ type }: P.ColumnView, size: number) {
  if (type === "date" || size > DAYS) return 10;
  return size > MINUTES ? 16 : 19;
}

/** The bounds of a part of a column's range, as they are typed; open at its ends. */
export function boundsOf(column: P.ColumnView, from: number, to: number): [string, string] {
  const { minimum = "", maximum = "" } = column.summary ?? {};
  const low = amountOf(minimum);
  const size = amountOf(maximum) - low;
  const digits = clamp(2 - Math.floor(Math.log10(size || 1)), 0, 12);
  const text = (share: number) => {
    const value = low + share * size;
    if (!isDate(column)) return value.toFixed(digits);
    return new Date(value).toISOString().replace("T", " ").slice(0, lengthOf(column, size));
  };
  return [from > 0 ? text(from) : "", to < 1 ? text(to) : ""];
}
