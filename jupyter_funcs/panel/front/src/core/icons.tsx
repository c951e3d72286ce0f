/** Each on a grid of 16 by 16. */
const PATHS = {
  chev: "M4 6l4 4 4-4",
  right: "M6 4l4 4-4 4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.6 10.6 14 14",
  star: "M8 1.8l1.9 4 4.3.5-3.2 3 .9 4.3L8 11.4l-3.9 2.2.9-4.3-3.2-3 4.3-.5z",
  clock: "M8 14.5A6.5 6.5 0 1 0 8 1.5a6.5 6.5 0 0 0 0 13ZM8 4.5V8l2.5 1.8",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  x: "M4.5 4.5l7 7M11.5 4.5l-7 7",
  check: "M3.5 8.5l3 3 6-7",
  info: "M8 14.5A6.5 6.5 0 1 0 8 1.5a6.5 6.5 0 0 0 0 13ZM8 7.3v4M8 4.9v.01",
  cal: "M2.5 4.5a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v8a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM2.5 6.5h11M5.5 2v3M10.5 2v3",
  play: "M5 3.2v9.6L12.6 8z",
  stop: "M4 4h8v8H4z",
  undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M3 6.5l3-3M3 6.5l3 3",
  save: "M8 2v8M4.8 7 8 10.2 11.2 7M2.5 13.5h11",
  funnel: "M2.5 3.5h11L9.4 8.6v4l-2.8-1.4V8.6z",
  up: "M8 13V3.5M4.2 7.2 8 3.4l3.8 3.8",
  down: "M8 3v9.5M4.2 8.8 8 12.6l3.8-3.8",
  code: "M5.5 4.5 2 8l3.5 3.5M10.5 4.5 14 8l-3.5 3.5",
  copy: "M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z",
  pencil: "M10.7 2.8l2.5 2.5L5.6 13l-3.1.6.6-3.1z",
  warn: "M8 2.2 14.4 13.4H1.6zM8 6.6v3.2M8 11.6v.01",
  err: "M8 14.5A6.5 6.5 0 1 0 8 1.5a6.5 6.5 0 0 0 0 13ZM8 4.6v4M8 11v.01",
  each: "M2.5 4h11M2.5 8h11M2.5 12h11M5 2.5v3M9 6.5v3M7 10.5v3",
  list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
  dollar: "M3 5.5l5-3 5 3v5l-5 3-5-3zM3 5.5l5 3 5-3M8 8.5v5",
  lines: "M1.8 12 5.6 7l3 2.6L14.2 4",
  areas: "M2 13.5V9.5l4-4 3 2.5 5-5v10.5z",
  stacks: "M2 13.5V6l4-3 4 2 4-2v10.5zM2 10l4-2 4 1.5 4-2",
  scatters: "M3.5 11.5h.01M6 7h.01M8.5 10h.01M10 5h.01M13 7.5h.01M12.5 3h.01M5.5 13h.01",
  histograms: "M2 13.5v-3h3v3M5 10.5v-5h3v8M8 5.5v-3h3v11M11 8h3v5.5H2",
  bars: "M3 13.5v-5M8 13.5v-11M13 13.5V6",
  book: "M3.5 2.5h9v11l-4.5-3-4.5 3z",
  refresh: "M13 8a5 5 0 1 1-1.6-3.7M13.2 2v2.8h-2.8",
  back: "M13 8H3.5M7.2 4.2 3.4 8l3.8 3.8",
  forth: "M3 8h9.5M8.8 4.2 12.6 8l-3.8 3.8",
  columns: "M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10",
  pin: "M5.5 2.5h5M6.5 2.5v4L4 9.5h8L9.5 6.5v-4M8 9.5v4",
  compare: "M5 3v10M11 3v10M5 13l-2-2M5 13l2-2M11 3 9 5M11 3l2 2",
  open: "M6.5 3h-4v10.5H13v-4M9 2.5h4.5V7M13.2 2.8 7.5 8.5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  pivot: "M2.5 2.5h11v11h-11zM2.5 6h11M6 2.5v11",
  empty: "M8 13.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM3.2 12.8l9.6-9.6",
  zoom: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM10.6 10.6 14 14M4.8 7h4.4",
};

export type IconName = keyof typeof PATHS;

export function Icon({
  name,
  size = 16,
  fill = false,
  class: className,
}: {
  name: IconName;
  size?: number;
  fill?: boolean;
  class?: string;
}) {
  return (
    <svg
      class={className}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill={fill ? "currentColor" : "none"}
      stroke="currentColor"
      stroke-width={name === "dots" || name === "scatters" ? 2.2 : 1.4}
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  );
}

/**
 * A button of 28 px: `kind` adds "is-line", "is-link", "is-main"; without a label it is square, and
 * `aria` names it. Further attributes (`data-jf`, `aria-expanded`, `onClick`, …) go to the element.
 */
export function Button({
  label,
  aria,
  icon,
  size = 16,
  fill = false,
  kind = "",
  chev = false,
  small = false,
  ...rest
}: {
  label?: string;
  aria?: string;
  icon?: IconName;
  size?: number;
  fill?: boolean;
  kind?: string;
  chev?: boolean;
  small?: boolean;
} & Record<string, any>) {
  return (
    <button
      type="button"
      class={`jf-btn ${kind} ${label ? "" : "is-icon"}`}
      aria-label={aria}
      title={label && !small ? undefined : (aria ?? label)}
      {...rest}
    >
      {icon && <Icon name={icon} size={size} fill={fill} />}
      {label && <span class={small ? "jf-wide-only" : undefined}>{label}</span>}
      {chev && <Icon name="chev" size={14} class="jf-chev" />}
    </button>
  );
}
