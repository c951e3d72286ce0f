/** Ticks and texts of the chart, against known ones. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { shortened } from "../src/format.js";
import { axis, axisText, nearest, pointText, ticks, timeTicks, valueText } from "../src/scales.js";

const day = (text) => Date.parse(`${text}Z`) / 86_400_000;
const labels = (from, to, about, point) => timeTicks(day(from), day(to), about, point).map(([, label]) => label);

test("ticks are round numbers", () => {
  assert.deepEqual(ticks(0, 800_000, 4), [0, 200_000, 400_000, 600_000, 800_000]);
  assert.deepEqual(ticks(-0.1, 0.3, 4), [-0.1, 0, 0.1, 0.2, 0.3]);
  assert.deepEqual(ticks(0, 0.7, 3), [0, 0.25, 0.5]);
  assert.equal(ticks(-1e150, 1e150, 5).length, 5);
});

test("an axis begins and ends at a tick", () => {
  assert.deepEqual(axis(250_000, 780_000, 4, true), { low: 0, high: 800_000, ticks: [0, 200_000, 400_000, 600_000, 800_000] });
  assert.deepEqual(axis(96, 131, 4, false), { low: 90, high: 140, ticks: [90, 100, 110, 120, 130, 140] });
  assert.deepEqual(axis(NaN, NaN, 4, true).ticks, [0, 0.25, 0.5, 0.75, 1]);
  for (const [low, high] of [[3, 3], [0, 0], [-7, -7], [1e-9, 2e-9], [-1e149, 1e149]]) {
    const { low: from, high: to, ticks: inside } = axis(low, high, 4, false);
    const near = (to - from) * 1e-9;
    assert.ok(from <= low + near && high <= to + near && inside.length >= 2 && inside.length < 12, `${low} ${high}`);
    assert.ok(Math.abs(inside[0] - from) <= near && Math.abs(inside.at(-1) - to) <= near);
  }
});

test("times have ticks at the first days of months and years", () => {
  assert.deepEqual(labels("2020-11-16", "2025-11-15", 7), ["2021", "2022", "2023", "2024", "2025"]);
  assert.deepEqual(labels("2024-06-01", "2025-08-15", 6), ["Jul", "Oct", "2025", "Apr", "Jul"]);
  assert.deepEqual(labels("2024-03-15", "2024-04-20", 6), ["21 Mar", "28 Mar", "4 Apr", "11 Apr", "18 Apr"]);
  assert.deepEqual(labels("2024-03-15", "2024-03-16", 5), ["15 Mar", "06:00", "12:00", "18:00", "16 Mar"]);
  assert.deepEqual(labels("2024-03-15T06:00", "2024-03-15T06:01", 5), ["06:00", "06:00:15", "06:00:30", "06:00:45", "06:01"]);
  assert.deepEqual(labels("2024-03-15", "2024-03-17", 9, "day"), ["15 Mar", "16 Mar", "17 Mar"]);
  assert.deepEqual(labels("0001-01-01", "9999-01-01", 7), ["4000", "6000", "8000"]);
});

test("points and values are written as people read them", () => {
  assert.equal(pointText(day("2023-12-18"), "week"), "Week of 18 Dec 2023");
  assert.equal(pointText(day("2023-10-01"), "quarter"), "Q4 2023");
  assert.equal(pointText(day("2023-10-01"), "month"), "Oct 2023");
  assert.equal(pointText(day("2023-10-01T05:30"), "hour"), "1 Oct 2023 05:30");
  assert.equal(pointText(day("2023-10-01T05:30:07"), "second"), "1 Oct 2023 05:30:07");
  assert.equal(pointText(day("2023-10-01T05:30:07.25"), ""), "1 Oct 2023 05:30:07.250");
  assert.equal(axisText(786_366_654, "money"), "786M");
  assert.equal(axisText(999_990, "count"), "1M");
  assert.equal(axisText(-2500, "number"), "−2.5k");
  assert.equal(axisText(0.025, "percent"), "2.5%");
  assert.equal(valueText(635_462.4, "money"), "635,462");
  assert.equal(valueText(12.5, "money"), "12.50");
  assert.equal(valueText(0.104, "percent", true), "+10.4%");
  assert.equal(valueText(-0.011, "percent", true), "−1.1%");
  assert.equal(valueText(11.665, "percent", true), "+1,166.5%");
  assert.equal(valueText(null, "money"), "");
});

test("the nearest point is found", () => {
  assert.deepEqual([-5, 1, 4, 6, 99].map((value) => nearest([0, 3, 5, 9], value)), [0, 0, 1, 2, 3]);
  assert.equal(nearest([7], 3), 0);
});

test("a legend leaves out the words that all values end with, and says what tells them apart", () => {
  for (const [values, said] of [
    [["BKQU US EQUITY", "NVRA US EQUITY"], ["BKQU", "NVRA"]],
    [["BKQU US EQUITY", "KORD LN EQUITY"], ["BKQU US", "KORD LN"]],
    [["Card Panel", "Debit Panel"], ["Card Panel", "Debit Panel"]],
    [["BKQU US EQUITY"], ["BKQU US EQUITY"]],
  ]) assert.deepEqual(values.map(shortened(values)), said);
});
