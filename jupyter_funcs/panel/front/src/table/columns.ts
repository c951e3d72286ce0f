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
