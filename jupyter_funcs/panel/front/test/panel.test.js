/** What the built bundle does with a model, without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pause } from "./fake.js";
import { shown } from "./page.js";

test("a panel says its state, asks whether the kernel is there, and leaves nothing behind", async () => {
  const { model, el, root, $, close } = await shown();
  assert.equal(root.dataset.state, "form");
  assert.equal(root.dataset.run, "0");
  assert.ok($("inputs") && $("result"));
  assert.deepEqual(model.kinds(), ["hello"]);
  await close();
  assert.equal(el.childElementCount, 0);
  assert.ok(Object.values(model.callbacks).every((each) => each.size === 0));
});

test("a kernel that is gone is said at once", async () => {
  const { model, root, $, close } = await shown();
  model.die();
  await pause(20);
  assert.equal(root.dataset.state, "gone");
  assert.match($("kernel-gone").textContent, /Run the cell again/);
  await close();
});
