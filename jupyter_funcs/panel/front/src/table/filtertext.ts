import { minus } from "../chart/scales";
import type * as P from "../core/protocol";
import { isNumber } from "./columns";

type Range = Extract<P.Filter, { kind: "range" }>;

/** The whole part of a typed number with commas: "400000" as "400,000". */
function grouped(text: string) {
  const whole = /(?<=^[+−-]?)\d+/;
  return minus(text.replace(whole, (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",")));
}

function boundText(typed: string, column?: P.ColumnView) {
  const text = typed.trim();
  if (!text) return "";
  const shown = isNumber(column) ? grouped(text) : text;
  return column?.type === "percent" && !typed.includes("%") ? `${shown}%` : shown;
}

function rangeText(filter: Range, column?: P.ColumnView) {
  const low = boundText(filter.low, column);
  const high = boundText(filter.high, column);
  if (low && high) return `${low} to ${high}`;
  return low ? `≥ ${low}` : `≤ ${high}`;
}

/** What a filter says: "Spend ≥ 400,000". */
export function filterText(filter: P.Filter, column?: P.ColumnView) {
  const name = column?.name ?? "";
  if (filter.kind === "text") return `${name} contains “${filter.text}”`;
  if (filter.kind === "range") return `${name} ${rangeText(filter, column)}`;
  const { values } = filter;
  if (values.length > 2) return `${name} is one of ${values.length}`;
  return `${name} is ${values.map((value) => value ?? "empty").join(" or ")}`;
}
