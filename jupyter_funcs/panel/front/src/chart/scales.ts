/** Ticks and texts of axes. Times are days since 1970, without a zone. */

const DAY = 86_400_000;
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** Steps of ticks in hours, and in months. */
const HOURS = [
  1 / 3600,
  5 / 3600,
  15 / 3600,
  1 / 60,
  5 / 60,
  15 / 60,
  0.5,
  1,
  3,
  6,
  12,
  24,
  48,
  96,
  168,
  336,
];
const STEPS = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 2400, 6000, 12_000, 24_000];

const date = (day: number) => new Date(Math.round(day * DAY));

/** "05:30", with seconds and their thousandths where there are any. */
function clock(when: Date) {
  const time = when.toISOString().slice(11, 23);
  if (when.getTime() % 1000) return time;
  return when.getTime() % 60_000 ? time.slice(0, 8) : time.slice(0, 5);
}

export const clamp = (value: number, low: number, high: number) =>
  Math.max(low, Math.min(high, value));

/** Round numbers within a range: about so many, as multiples of 1, 2, 2.5 or 5. */
export function ticks(low: number, high: number, about: number) {
  const raw = (high - low || Math.abs(high) || 1) / about;
  const size = 10 ** Math.floor(Math.log10(raw));
  const factor = [1, 2, 2.5, 5].find((round) => round * size >= raw * (1 - 1e-9)) ?? 10;
  const step = size * factor;
  const out = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6; at++)
    out.push(at === 0 ? 0 : Number((at * step).toPrecision(12)));
  return out;
}

/**
 * The range of an axis of values: from a round number to a round number, and through zero where it
 * is asked for.
 */
export function axis(
  low: number,
  high: number,
  about: number,
  zero: boolean,
): { low: number; high: number; ticks: number[] } {
  const [first, last] = span(low, high, zero);
  const inside = ticks(first, last, about);
  const step = inside.length > 1 ? inside[1] - inside[0] : (last - first) / about;
  const ends = {
    low: Math.floor(first / step + 1e-9) * step,
    high: Math.ceil(last / step - 1e-9) * step,
  };
  return { ...ends, ticks: ticks(ends.low, ends.high, Math.round((ends.high - ends.low) / step)) };
}

/** A logarithmic axis between ones, twos and fives; over many of them powers of ten have labels. */
export function logAxis(low: number, high: number): ReturnType<typeof axis> {
  const first = Math.floor(Math.log10(low));
  const powers = Array.from(
    { length: Math.log10(high) - first + 2 },
    (_, at) => 10 ** (first + at),
  );
  const marks = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const start = marks.findLastIndex((mark) => mark <= low);
  const end = marks.findIndex((mark, at) => mark >= high && at > start);
  const inside = marks.slice(start, end + 1);
  const ticks = inside.length > 7 ? inside.filter((mark) => powers.includes(mark)) : inside;
  return { low: inside[0], high: inside[inside.length - 1], ticks };
}

/** What an axis has to show: more than a point, and something where there are no values. */
function span(low: number, high: number, zero: boolean) {
  if (!(low <= high)) return [0, 1];
  const [first, last] = zero ? [Math.min(low, 0), Math.max(high, 0)] : [low, high];
  if (first !== last) return [first, last];
  const half = Math.abs(first) / 2;
  return half ? [first - half, first + half] : [0, 1];
}

/**
 * Where an axis of time has ticks, with their labels: at first days of months and years, or at days
 * and hours; none between the days of points that stand for days.
 */
export function timeTicks(low: number, high: number, about: number, point: string = ""): Tick[] {
  const months = (high - low) / 30.44 / about;
  if (months > 0.5)
    return monthTicks(
      low,
      high,
      STEPS.find((step) => months <= step * 1.1),
    );
  const hours = Math.max(((high - low) * 24) / about, /day|week|month/.test(point) ? 24 : 0);
  return hourTicks(
    low,
    high,
    HOURS.find((step) => step >= hours),
  );
}

type Tick = [day: number, label: string];

function hourTicks(low: number, high: number, hours: number = 336) {
  const step = hours / 24;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-6; at++) {
    const when = date(at * step);
    const isDay = when.getTime() % DAY === 0;
    const label = isDay ? `${when.getUTCDate()} ${MONTHS[when.getUTCMonth()]}` : clock(when);
    ticks.push([at * step, label]);
  }
  return ticks;
}

function monthTicks(low: number, high: number, step: number = 120_000) {
  const first = date(low);
  const ticks: Tick[] = [];
  let month = Math.ceil((first.getUTCFullYear() * 12 + first.getUTCMonth()) / step) * step;
  for (let day = firstDay(month); day <= high; day = firstDay(month)) {
    const year = Math.floor(month / 12);
    const label = month % 12 === 0 ? String(year) : MONTHS[month - year * 12];
    if (day >= low) ticks.push([day, label]);
    month += step;
  }
  return ticks;
}

/** The first day of a month that is counted from the year 0. */
function firstDay(month: number) {
  const year = Math.floor(month / 12);
  const when = new Date(0);
  when.setUTCFullYear(year, month - year * 12, 1); // Date.UTC takes 99 as 1999
  return when.getTime() / DAY;
}

/** "18 Dec 2023", with the time where it has one. */
function dateText(day: number) {
  const when = date(day);
  const time = when.getTime() % DAY ? ` ${clock(when)}` : "";
  return `${when.getUTCDate()} ${MONTHS[when.getUTCMonth()]} ${when.getUTCFullYear()}${time}`;
}

/** What a point of time stands for: "Week of 18 Dec 2023", "Dec 2023", "Q4 2023". */
export function pointText(day: number, step: string) {
  const when = date(day);
  if (step === "week") return `Week of ${dateText(day)}`;
  if (step === "month") return `${MONTHS[when.getUTCMonth()]} ${when.getUTCFullYear()}`;
  if (step === "quarter")
    return `Q${Math.floor(when.getUTCMonth() / 3) + 1} ${when.getUTCFullYear()}`;
  return step === "year" ? String(when.getUTCFullYear()) : dateText(day);
}

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 1,
  maximumFractionDigits: 1,
});
const cents = new Intl.NumberFormat("en-US", {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});
const plain = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 6 });
/** A number with the minus sign of the screen. */
export const minus = (text: string) => text.replaceAll("-", "−");

type Unit = [size: number, word: string];

const UNITS: Unit[] = [
  [1e12, "T"],
  [1e9, "B"],
  [1e6, "M"],
  [1e3, "k"],
];
/** From here on no unit is known. */
const LARGEST = 1e15;

/** A single value in few digits, in a legend or at a bar: "786M", "−2.5k". */
export function shortText(value: number | null | undefined, format: string, digits: number = 3) {
  if (value === null || value === undefined) return "";
  if (Math.abs(value) >= LARGEST) return minus(value.toExponential(digits - 1));
  const [size, unit] =
    format === "percent"
      ? [0.01, "%"]
      : (UNITS.find(([unit]) => Math.abs(value) >= unit * 0.9995) ?? [1, ""]);
  return minus(`${Number((value / size).toPrecision(digits))}${unit}`);
}

/**
 * The labels of an axis, in one unit and with the decimals that their step needs; values are at
 * equal distances.
 */
export function axisTexts(values: number[], format: string) {
  const high = Math.max(...values.map(Math.abs));
  const step = values.length > 1 ? values[1] - values[0] : high || 1;
  const decimals = (size: number) => {
    let count = 0;
    while (
      count < 20 &&
      Math.abs(Number((step / size).toFixed(count)) - step / size) > (step / size) * 1e-6
    )
      count += 1;
    return count;
  };
  const power = Math.floor(Math.log10(high || 1));
  const unitOf = (): Unit | undefined => {
    if (format === "percent") return [0.01, "%"];
    if (power < -4 || power > 14) return [10 ** power, `e${power}`];
    return UNITS.find(([size]) => size <= high && decimals(size) < 3);
  };
  const [size, unit] = unitOf() ?? [1, ""];
  const text = new Intl.NumberFormat("en-US", {
    minimumFractionDigits: decimals(size),
    maximumFractionDigits: decimals(size),
  });
  return values.map((value) =>
    minus(`${text.format(value / size)}${value || unit === "%" ? unit : ""}`),
  );
}

/** A value in full, as in a tooltip. */
export function valueText(
  value: number | null | undefined,
  format: string,
  signed: boolean = false,
) {
  if (value === null || value === undefined) return "";
  if (format === "percent")
    return `${signed && value > 0 ? "+" : ""}${minus(tenths.format(value * 100))}%`;
  if (format === "index") return minus(tenths.format(value));
  if (format === "money") return minus((Math.abs(value) < 1000 ? cents : whole).format(value));
  return minus((format === "count" ? whole : plain).format(value));
}

/** The place of the nearest number. */
export const nearest = (values: number[], value: number) =>
  values.reduce(
    (best, other, at) => (Math.abs(other - value) < Math.abs(values[best] - value) ? at : best),
    0,
  );
