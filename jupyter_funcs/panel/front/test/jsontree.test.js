/** The reply as a folded tree, which is asked for a level at a time. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { settled, until } from "./clock.js";
import { RUN } from "./fake.js";
import { shown, type } from "./page.js";
import { ANSWERS, RESULT } from "./states.js";

const panel = (answers = {}) =>
  shown(
    { tab: "json", run: { ...RUN, state: "done", number: 3, result: RESULT } },
    { ...ANSWERS, ...answers },
  );
const paths = (model) =>
  model.asked
    .filter((each) => each.kind === "json")
    .map(({ path, from }) => [...path, from].join("/"));

test("a level is asked for when it is opened; the rows, and short objects beside them, at once", async () => {
  const { model, $, close } = await panel();
  await until(() => $("node:rows"));
  await until(() => paths(model).length === 3);
  assert.deepEqual(paths(model), ["0", "request/0", "rows/0"]);
  assert.match($("json").textContent, /"function": "get_panel_daily"/);
  assert.match($("node:rows").textContent, /"rows": \[1,234\]/);
  await until(() => $("json-more"));
  assert.equal($("node:rows").getAttribute("aria-expanded"), "true");
  assert.match($("json").textContent, /49: \["2020-11-16", "Midwest"/);
  assert.equal($("json-more").textContent, "Show 50 more of 1,234");
  $("json-more").click();
  await until(() => $("json").textContent.includes("99: ["));
  assert.deepEqual(paths(model).slice(2), ["rows/0", "rows/50"]);
  $("node:columns").click();
  await until(() => paths(model).length === 5);
  assert.equal(paths(model)[4], "columns/0");
  $("node:rows").click();
  await until(() => !$("json-more"));
  await close();
});

test("what is found is opened and marked, page by page, the next one and the one before", async () => {
  const { model, el, $, close } = await panel();
  await until(() => $("json-more"));
  const enter = (more = {}) =>
    $("json-find").dispatchEvent(
      new el.ownerDocument.defaultView.KeyboardEvent("keydown", {
        key: "Enter",
        bubbles: true,
        ...more,
      }),
    );
  const hit = () => el.querySelector(".jf-node.is-hit")?.textContent ?? "";
  type($("json-find"), "Mid");
  type($("json-find"), "Midwest");
  await until(() => hit());
  assert.match(hit(), /function/);
  assert.equal($("json-found").textContent, "1 of 3");
  assert.deepEqual(
    model.asked.filter((each) => each.kind === "json_find").map(({ text }) => text),
    ["Midwest"],
  ); // a pause, not each key
  enter({ shiftKey: true });
  await until(() => hit().startsWith("777"));
  assert.equal(paths(model).at(-1), "rows/750");
  assert.match($("json-first").textContent, /Show from the first of 1,234/);
  $("json-up").click();
  await until(() => hit().startsWith("0: "));
  assert.equal($("json-found").textContent, "2 of 3");
  enter();
  await until(() => $("json-found").textContent === "3 of 3");
  type($("json-find"), "zzz");
  await until(() => !hit());
  assert.equal($("json-found").textContent, "Searching…"); // no count of another text
  await until(() => $("json-found").textContent === "Not found");
  type($("json-find"), "");
  await until(() => $("json-found").textContent.startsWith("The reply as it came"));
  await close();
});

test("one search at a time, and of those that waited the last", async () => {
  const { model, $, close } = await panel({ json_find: null });
  await until(() => $("json-find"));
  const asked = () => model.asked.filter((each) => each.kind === "json_find");
  const answer = ({ id }) =>
    model.emit("msg:custom", { v: 1, re: id, hits: [], more: false, all: true });
  for (const text of ["a", "ab", "abc"]) {
    type($("json-find"), text);
    await settled();
  }
  assert.deepEqual(
    asked().map(({ text }) => text),
    ["a"],
  );
  answer(asked()[0]);
  await until(() => asked().length === 2);
  assert.equal(asked()[1].text, "abc");
  assert.equal($("json-found").textContent, "Searching…"); // the first answer is of another text
  answer(asked()[1]);
  await until(() => $("json-found").textContent === "Not found");
  await close();
});

test("markup in keys and values stays text, and a reply without JSON says why", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  const child = { key: evil, type: "string", text: JSON.stringify(evil), total: 0, whole: true };
  const { el, $, close } = await panel({
    json: { type: "object", text: "", total: 1, whole: false, children: [child] },
  });
  await until(() => $("json").textContent);
  assert.ok(!el.querySelector("img"));
  assert.match($("json").textContent, /onerror/);
  await close();
  const bad = await panel({ json: { error: ["The reply is not JSON at byte 0."] } });
  await until(() => bad.$("json-empty"));
  assert.match(bad.$("json-empty").textContent, /not JSON/);
  await bad.close();
});
