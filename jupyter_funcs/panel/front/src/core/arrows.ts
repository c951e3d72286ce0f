/** The place that a key leads to. */
function placeOf(key: string, at: number, last: number) {
  switch (key) {
    case "ArrowRight":
    case "ArrowDown":
      return at + 1;
    case "ArrowLeft":
    case "ArrowUp":
      return at - 1;
    case "Home":
      return 0;
    case "End":
      return last;
    default:
      return undefined;
  }
}

/** Choose by arrow keys, Home and End among the children of what has the keys, or some elements. */
export function arrows(
  event: KeyboardEvent,
  at: number,
  many: number,
  choose: (at: number) => void,
  stops: ArrayLike<Element> = (event.currentTarget as HTMLElement).children,
) {
  const place = placeOf(event.key, at, many - 1);
  if (place === undefined || event.altKey) return;
  event.preventDefault();
  const next = (place + many) % many;
  choose(next);
  (stops[next] as HTMLElement).focus();
}
