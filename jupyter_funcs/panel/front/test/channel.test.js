/** Requests, values on their way, and whether the kernel answers: against a model without a kernel. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeModel, pause, VALUES } from "./fake.js";
import { Channel, join, TIMES } from "../src/channel.js";

Object.assign(TIMES, { typing: 20, busy: 30, hello: 60, reply: 80 });
const fields = { Symbol: { value: "A" }, Panel: { value: { variable: "name", about: "text", each: false } } };

/** A channel, closed after the test. */
function opened(context, answers, traits, kernel) {
  const model = new FakeModel({ values: { ...VALUES, fields }, ...traits }, answers);
  if (kernel) model.widget_manager = { kernel };
  const channel = new Channel(model);
  context.after(() => channel.close());
  return { model, channel };
}

test("a request is numbered and gets its own reply, in whatever order they come", async (context) => {
  const { model, channel } = opened(context, { about: null, code: null });
  const asked = [channel.ask("about", {}), channel.ask("code", {})];
  assert.deepEqual(model.asked.map(({ v, id, kind }) => [v, id, kind]), [[1, 1, "about"], [1, 2, "code"]]);
  model.event({ re: 2, blocks: [] });
  model.event({ re: 1, facts: [] });
  const [about, code] = await Promise.all(asked);
  assert.ok("facts" in about && "blocks" in code);
});

test("an error is refused with its lines, and a reply nobody waits for is dropped", async (context) => {
  const { model, channel } = opened(context, { choose: { error: ["There is no function x.", "Did you mean y?"] } });
  await assert.rejects(channel.ask("choose", { function: "x" }), (error) => error.lines.length === 2 && /Did you mean/.test(error.message));
  model.event({ re: 1, late: true });
  model.emit("msg:custom", { v: 2, re: 1 });
  model.emit("msg:custom", null);
  assert.equal(channel.live, "live");
});

test("a request that stays without a reply makes the kernel busy, then gives up", async (context) => {
  const { channel } = opened(context, { about: null });
  const asked = channel.ask("about", {});
  const refused = assert.rejects(asked, /has not answered for/);
  await pause(45);
  assert.equal(channel.live, "busy");
  await refused;
  await pause(45);
  assert.notEqual(channel.live, "gone");
});

test("while a cell runs nothing gives up", async (context) => {
  const { model, channel } = opened(context, { about: null }, {}, { status: "busy" });
  let ended = false;
  const asked = channel.ask("about", {}).then((reply) => (ended = true, reply));
  await pause(200);
  assert.equal(ended, false);
  assert.equal(channel.live, "busy");
  model.event({ re: 1, facts: [] });
  await asked;
  assert.equal(channel.live, "live");
});

test("a kernel that does not greet back is gone, and what is asked then is refused at once", async (context) => {
  const { model, channel } = opened(context, { hello: null });
  await channel.hello();
  assert.equal(channel.live, "gone");
  await assert.rejects(channel.ask("about", {}), /Run the cell again/);
  assert.deepEqual(model.kinds(), ["hello"]);
});

for (const [how, end] of [
  ["a comm that is closed", (model) => model.die()],
  ["a kernel that is dead", (_, kernel) => kernel.become("dead")],
  ["a kernel that was shut down", (_, kernel) => kernel.become("unknown")],
  ["a send that throws", (model, _, channel) => ((model.comm_live = false), channel.ask("code", {}).catch(() => {}))],
]) {
  test(`${how} refuses what waits`, async (context) => {
    const slots = new Set();
    const kernel = { status: "idle", statusChanged: { connect: (slot) => slots.add(slot), disconnect: (slot) => slots.delete(slot) }, become: (status) => slots.forEach((slot) => slot(null, status)) };
    const { model, channel } = opened(context, { about: null }, {}, kernel);
    const refused = assert.rejects(channel.ask("about", {}), /The kernel has stopped/);
    end(model, kernel, channel);
    await refused;
    assert.equal(channel.live, "gone");
    channel.close();
    assert.equal(slots.size, 0);
  });
}

test("after a lost connection the panel lives again once the kernel greets back", async (context) => {
  const slots = new Set();
  const { channel } = opened(context, {}, {}, { status: "idle", statusChanged: { connect: (slot) => slots.add(slot), disconnect() {} } });
  for (const status of ["unknown", "idle"]) slots.forEach((slot) => slot(null, status));
  await pause(20);
  assert.equal(channel.live, "live");
});

test("typing is sent once it rests, numbered, and what the kernel says later does not overwrite it", async (context) => {
  const { model, channel } = opened(context, { set: null });
  for (const value of ["N", "NV", "NVRA"]) channel.set("Symbol", value);
  assert.equal(channel.values().fields.Symbol.value, "NVRA");
  assert.equal(model.asked.length, 0);
  await pause(40);
  assert.deepEqual(model.asked.map(({ kind, seq, field, value }) => [kind, seq, field, value]), [["set", 1, "Symbol", "NVRA"]]);
  channel.set("Symbol", "NVRB");
  model.write({ values: { ...VALUES, seq: 1, fields } });
  assert.equal(channel.values().fields.Symbol.value, "NVRB");
  await pause(40);
  model.write({ values: { ...VALUES, seq: 2, fields: { ...fields, Symbol: { value: "nvrb" } } } });
  assert.equal(channel.values().fields.Symbol.value, "nvrb");
});

test("a value that is refused falls back to what the kernel holds", async (context) => {
  const { channel } = opened(context, { set: { error: ["No."] } });
  const said = [];
  channel.listeners.add((event) => said.push(event.text));
  channel.set("Symbol", "x");
  await pause(50);
  assert.equal(channel.values().fields.Symbol.value, "A");
  assert.deepEqual(said, ["No."]);
});

test("Run carries what was typed just now, and variables by name", async (context) => {
  const { model, channel } = opened(context, { run: { asks: "" } });
  channel.set("Symbol", "NVRA");
  await channel.run(false);
  assert.deepEqual(model.asked, [{ v: 1, id: 1, kind: "run", seq: 1, values: { Symbol: "NVRA", Panel: "$name" }, confirmed: false }]);
});

test("any other request comes after what was typed before it", async (context) => {
  const { model, channel } = opened(context);
  channel.set("Symbol", "NVRA");
  await channel.ask("choose", { function: "other" });
  assert.deepEqual(model.kinds(), ["set", "choose"]);
});

test("two views of a model share a channel, which the last one closes", () => {
  const model = new FakeModel();
  const first = join(model);
  const second = join(model);
  assert.equal(first.channel, second.channel);
  first.leave();
  assert.ok(model.callbacks["msg:custom"].size);
  second.leave();
  assert.equal(model.callbacks["msg:custom"].size, 0);
  assert.notEqual(join(model).channel, first.channel);
});
