/** Ticks and texts of the chart, against known ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { imported } from "./sources.js";

const { shortened } = await imported("core/format.tsx");
const { axis, axisTexts, nearest, pointText, shortText, ticks, timeTicks, valueText } =
  await imported("chart/scales.ts");

const day = (text) => Date.parse(`${text}Z`) / 86_400_000;
const labels = (from, to, about, point) =>
  timeTicks(day(from), day(to), about, point).map(([, label]) => label);

test("ticks are round numbers", () => {
  assert.deepEqual(ticks(0, 800_000, 4), [0, 200_000, 400_000, 600_000, 800_000]);
  assert.deepEqual(ticks(-0.1, 0.3, 4), [-0.1, 0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(0, 0.7, 3), [0, 0.25, 0.5]);
  assert.equal(ticks(-1e150, 1e150, 5).length, 5);
});

test("an axis begins and ends at a tick", () => {
  assert.deepEqual(axis(250_000, 780_000, 4, true), {
    low: 0,
    high: 800_000,
    ticks: [0, 200_000, 400_000, 600_000, 800_000],
  });
  assert.deepEqual(axis(96, 131, 4, false), {
    low: 90,
    high: 140,
    ticks: [90, 100, 110, 120, 130, 140],
  });
  assert.deepEqual(axis(NaN, NaN, 4, true).ticks, [0, 0.25, 0.5, 0.75, 1]);
  for (const [low, high] of [
    [3, 3],
    [0, 0],
    [-7, -7],
    [1e-9, 2e-9],
    [-1e149, 1e149],
  ]) {
    const { low: from, high: to, ticks: inside } = axis(low, high, 4, false);
    const near = (to - from) * 1e-9;
    assert.ok(
      from <= low + near && high <= to + near && inside.length >= 2 && inside.length < 12,
      `${low} ${high}`,
    );
    assert.ok(Math.abs(inside[0] - from) <= near && Math.abs(inside.at(-1) - to) <= near);
  }
});

test("times have ticks at the first days of months and years", () => {
  assert.deepEqual(labels("2020-11-16", "2025-11-15", 7), ["2021", "2022", "2023", "2024", "2025"]);
  assert.deepEqual(labels("2024-06-01", "2025-08-15", 6), ["Jul", "Oct", "2025", "Apr", "Jul"]);
  assert.deepEqual(labels("2024-03-15", "2024-04-20", 6), [
    "21 Mar",
    "28 Mar",
    "4 Apr",
    "11 Apr",
    "18 Apr",
  ]);
  assert.deepEqual(labels("2024-03-15", "2024-03-16", 5), [
    "15 Mar",
    "06:00",
    "12:00",
    "18:00",
    "16 Mar",
  ]);
  assert.deepEqual(labels("2024-03-15T06:00", "2024-03-15T06:01", 5), [
    "06:00",
    "06:00:15",
    "06:00:30",
    "06:00:45",
    "06:01",
  ]);
  assert.deepEqual(labels("2024-03-15", "2024-03-17", 9, "day"), ["15 Mar", "16 Mar", "17 Mar"]);
  assert.deepEqual(labels("0001-01-01", "9999-01-01", 7), ["4000", "6000", "8000"]);
});

test("labels of an axis have the decimals that its step needs", () => {
  const labels = (format, ...range) => axisTexts(axis(...range, 7, false).ticks, format).join(" ");
  assert.equal(labels("money", 10.3, 11.9), "10.25 10.50 10.75 11.00 11.25 11.50 11.75 12.00");
  assert.equal(
    labels("money", -600_000, 1_100_000),
    "−0.75M −0.50M −0.25M 0.00 0.25M 0.50M 0.75M 1.00M 1.25M",
  );
  assert.equal(
    labels("count", 1_001_000, 1_012_000),
    "1,000k 1,002k 1,004k 1,006k 1,008k 1,010k 1,012k",
  );
  assert.equal(labels("percent", -0.01, 0.005), "−1.00% −0.75% −0.50% −0.25% 0.00% 0.25% 0.50%");
  assert.equal(labels("percent", 0, 0.4), "0% 10% 20% 30% 40%");
  assert.equal(labels("number", 2e9, 9e9), "2B 3B 4B 5B 6B 7B 8B 9B");
  assert.equal(labels("number", 1e-9, 3e-9), "1.0e−9 1.5e−9 2.0e−9 2.5e−9 3.0e−9");
});

test("what the labels of an axis say is where they are, at each step", () => {
  const units = { "": 1, "%": 0.01, k: 1e3, M: 1e6, B: 1e9, T: 1e12 };
  const value = (text) => {
    const [, number, unit] = /^([−\d.,]+)(.*)$/.exec(text);
    return (
      Number(number.replaceAll(",", "").replace("−", "-")) *
      (units[unit] ?? Number(`1${unit.replace("−", "-")}`))
    );
  };
  for (const format of ["money", "count", "number", "percent", "index"]) {
    for (let power = -12; power < 18; power++) {
      for (const size of [1, 2, 2.5, 5]) {
        for (const first of [0, -3, 7, 39, -1000]) {
          const places = Array.from({ length: 7 }, (_, at) =>
            Number(((first + at) * size * 10 ** power).toPrecision(12)),
          );
          const texts = axisTexts(places, format);
          const near = (text, at) => Math.abs(value(text) - places[at]) < size * 10 ** power * 1e-5;
          assert.ok(texts.every(near), `${format} ${places}: ${texts}`);
          assert.equal(
            new Set(texts.map((text) => /\.\d+/.exec(text)?.[0].length)).size,
            1,
            String(texts),
          );
        }
      }
    }
  }
});

test("points and values are written as people read them", () => {
  assert.equal(pointText(day("2023-12-18"), "week"), "Week of 18 Dec 2023");
  assert.equal(pointText(day("2023-10-01"), "quarter"), "Q4 2023");
  assert.equal(pointText(day("2023-10-01"), "month"), "Oct 2023");
  assert.equal(pointText(day("2023-10-01T05:30"), "hour"), "1 Oct 2023 05:30");
  assert.equal(pointText(day("2023-10-01T05:30:07"), "second"), "1 Oct 2023 05:30:07");
  assert.equal(pointText(day("2023-10-01T05:30:07.25"), ""), "1 Oct 2023 05:30:07.250");
  assert.equal(shortText(786_366_654, "money"), "786M");
  assert.equal(shortText(999_990, "count"), "1M");
  assert.equal(shortText(-2500, "number"), "−2.5k");
  assert.equal(shortText(0.025, "percent"), "2.5%");
  assert.equal(valueText(635_462.4, "money"), "635,462");
  assert.equal(valueText(12.5, "money"), "12.50");
  assert.equal(valueText(0.104, "percent", true), "+10.4%");
  assert.equal(valueText(-0.011, "percent", true), "−1.1%");
  assert.equal(valueText(11.665, "percent", true), "+1,166.5%");
  assert.equal(valueText(null, "money"), "");
});

test("the nearest point is found", () => {
  assert.deepEqual(
    [-5, 1, 4, 6, 99].map((value) => nearest([0, 3, 5, 9], value)),
    [0, 0, 1, 2, 3],
  );
  assert.equal(nearest([7], 3), 0);
});

test("a legend leaves out the words that all values end with, and says what tells them apart", () => {
  for (const [values, said] of [
    [
      ["BKQU US EQUITY", "NVRA US EQUITY"],
      ["BKQU", "NVRA"],
    ],
    [
      ["BKQU US EQUITY", "KORD LN EQUITY"],
      ["BKQU US", "KORD LN"],
    ],
    [
      ["Card Panel", "Debit Panel"],
      ["Card Panel", "Debit Panel"],
    ],
    [["BKQU US EQUITY"], ["BKQU US EQUITY"]],
  ])
    assert.deepEqual(values.map(shortened(values)), said);
});
