/** Where a box is put beside what opened it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.js";
import { imported } from "./sources.js";

const { placeBeside } = await imported("core/placement.ts");

test("a box that doesn't fit below is above, and stays there while it gets shorter", () => {
  const sides = [];
  const box = { style: {}, offsetWidth: 360 };
  const place = (top, height) => {
    const target = {
      getBoundingClientRect: () => ({ left: 0, right: 28, width: 28, top, bottom: top + 28 }),
    };
    placeBeside(Object.assign(box, { scrollHeight: height }), target);
    sides.push(box.style.top === "auto" ? "above" : "below");
  };
  place(300, 340); // of 900 pixels
  place(600, 340);
  place(600, 100);
  place(300, 100);
  assert.deepEqual(sides, ["below", "above", "above", "below"]);
});
