import type * as P from "../core/protocol";

type Order = P.TableQuery["sort"][number];

/** The most columns of an order. */
const MOST = 8;

/** The next order of a column: the usual one, then the other way, then none. */
function turned(now: Order | undefined, at: number, isDown: boolean): Order | null {
  if (!now) return { at, descending: isDown };
  return now.descending === isDown ? { at, descending: !isDown } : null;
}

/** The order after a click on a column, which `adds` to it or is the order alone. */
export function sorted(sort: Order[], at: number, isDown: boolean, adds: boolean): Order[] {
  const now = sort.find((order) => order.at === at);
  const next = turned(now, at, isDown);
  if (!adds) return next ? [next] : [];
  if (now && next) return sort.map((order) => (order.at === at ? next : order));
  const others = sort.filter((order) => order.at !== at);
  return next ? [...others, next].slice(0, MOST) : others;
}
