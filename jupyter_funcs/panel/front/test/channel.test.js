/** Requests, values on their way, and whether the kernel answers: against a model without a kernel. */
import assert from "node:assert/strict";
import { after, mock, test } from "node:test";
import { FakeModel, VALUES } from "./fake.js";
import { imported } from "./sources.js";

const { Channel, TIMES } = await imported("core/channel.ts");

// The tests' own clock, the same on every machine: a millisecond passes once nothing else is left to do.
mock.timers.enable({ apis: ["setTimeout", "setInterval", "Date"], now: 1e12 });
let passing = setImmediate(function pass() {
  mock.timers.tick(1);
  passing = setImmediate(pass);
});
after(() => clearImmediate(passing));
const pause = (milliseconds = 0) => new Promise((resolve) => setTimeout(resolve, milliseconds));

Object.assign(TIMES, {
  typing: 20,
  busy: 30,
  beat: 10,
  quiet: 20,
  silence: 50,
  hello: 60,
  reply: 80,
});
const fields = {
  Symbol: { value: "A" },
  Panel: { value: { variable: "name", about: "text", each: false } },
};

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
  const [first, second] = model.asked;
  assert.deepEqual(model.asked, [
    { v: 1, id: first.id, kind: "about" },
    { v: 1, id: first.id + 1, kind: "code" },
  ]);
  model.event({ re: second.id, blocks: [] });
  model.event({ re: first.id, facts: [] });
  const [about, code] = await Promise.all(asked);
  assert.ok("facts" in about && "blocks" in code);
});

test("long lists of values are read where they are", (context) => {
  const long = { Symbol: { value: { each: ["A", "B"] }, unknown: ["B"] }, Gone: { value: "x" } };
  const { channel } = opened(
    context,
    {},
    { values: { ...VALUES, fields: { ...fields, Symbol: { value: 17, unknown: 18 } } }, long },
  );
  const read = JSON.parse(JSON.stringify(channel.values()?.fields)); // maps have no prototype
  assert.deepEqual(read, { ...fields, Symbol: long.Symbol });
});

test("an error is refused with its lines, and a reply nobody waits for is dropped", async (context) => {
  const { model, channel } = opened(context, {
    choose: { error: ["There is no function x.", "Did you mean y?"] },
  });
  await assert.rejects(
    channel.ask("choose", { function: "x" }),
    (error) => error.lines.length === 2 && /Did you mean/.test(error.message),
  );
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
  const asked = channel.ask("about", {}).then((reply) => {
    ended = true;
    return reply;
  });
  await pause(200);
  assert.equal(ended, false);
  assert.equal(channel.live, "busy");
  model.event({ re: model.asked[0].id, facts: [] });
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
  [
    "a send that throws",
    (model, _, channel) => {
      model.comm_live = false;
      channel.ask("code", {}).catch(() => {});
    },
  ],
]) {
  test(`${how} refuses what waits`, async (context) => {
    const slots = new Set();
    const kernel = {
      status: "idle",
      statusChanged: {
        connect: (slot) => slots.add(slot),
        disconnect: (slot) => slots.delete(slot),
      },
      become(status) {
        for (const slot of slots) slot(null, status);
      },
    };
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
  const { channel } = opened(
    context,
    {},
    {},
    { status: "idle", statusChanged: { connect: (slot) => slots.add(slot), disconnect() {} } },
  );
  for (const status of ["unknown", "idle"]) {
    for (const slot of slots) slot(null, status);
  }
  await pause(20);
  assert.equal(channel.live, "live");
});

test("typing is sent once it rests, numbered, and what the kernel says later does not overwrite it", async (context) => {
  const { model, channel } = opened(context, { set: null });
  for (const value of ["N", "NV", "NVRA"]) channel.set("Symbol", value);
  assert.equal(channel.values().fields.Symbol.value, "NVRA");
  assert.equal(model.asked.length, 0);
  await pause(40);
  const sets = model.asked.filter(({ kind }) => kind === "set");
  assert.deepEqual(
    sets.map(({ seq, field, value }) => [seq, field, value]),
    [[1, "Symbol", "NVRA"]],
  );
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

test("Run carries what was typed just now, and leaves the rest as the kernel holds it", async (context) => {
  const { model, channel } = opened(context, { run: { asks: "" } });
  channel.set("Symbol", "NVRA");
  await channel.run(false);
  assert.deepEqual(model.asked, [
    { v: 1, id: channel.id, kind: "run", seq: 1, values: { Symbol: "NVRA" }, confirmed: false },
  ]);
});

test("any other request comes after what was typed before it", async (context) => {
  const { model, channel } = opened(context);
  channel.set("Symbol", "NVRA");
  await channel.ask("choose", { function: "other" });
  assert.deepEqual(model.kinds(), ["set", "choose"]);
});

test("two views of a model don't take each other's replies", async (context) => {
  const model = new FakeModel({}, { about: null });
  const [one, other] = [new Channel(model), new Channel(model)];
  context.after(() => {
    one.close();
    other.close();
  });
  let ended = 0;
  for (const each of [one, other])
    each.ask("about", {}).then(
      () => (ended += 1),
      () => {},
    );
  model.event({ re: model.asked[0].id, facts: [] });
  await pause();
  assert.equal(ended, 1);
});

const told = (type, state, parent = "") => [
  null,
  {
    header: { msg_type: type },
    parent_header: { msg_type: parent },
    content: { execution_state: state },
  },
];

/** A kernel that says by itself what the test lets it. */
function speaking() {
  const slots = new Set();
  return {
    status: "idle",
    iopubMessage: { connect: (slot) => slots.add(slot), disconnect: (slot) => slots.delete(slot) },
    say(...said) {
      for (const slot of slots) slot(...told(...said));
    },
  };
}

test("a kernel that falls silent while somebody works with the panel is gone", async (context) => {
  const { model, channel } = opened(context, { code: {} }, {}, speaking());
  await pause(50);
  assert.deepEqual(model.kinds(), []);
  await channel.ask("code", {});
  await pause(50);
  assert.equal(channel.live, "live");
  assert.ok(model.kinds().includes("hello"));
  model.answers.hello = null;
  await pause(200);
  assert.equal(channel.live, "gone");
});

test("a kernel that runs a cell, or says anything, isn't gone; one that says goodbye is", async (context) => {
  const kernel = speaking();
  const { model, channel } = opened(context, { code: {}, hello: null }, {}, kernel);
  kernel.say("status", "busy", "execute_request");
  await channel.ask("code", {});
  await pause(120);
  assert.deepEqual(model.kinds(), ["code"]);
  kernel.say("status", "idle", "execute_request");
  for (let at = 0; at < 8; at += 1) await pause(20).then(() => kernel.say("stream"));
  assert.equal(channel.live === "gone", false);
  kernel.say("shutdown_reply");
  assert.equal(channel.live, "gone");
});

test("the state of the service and the options are those that were written last", (context) => {
  const service = { name: "demo", account: "", trouble: [] };
  const { model, channel } = opened(
    context,
    {},
    { view: { service, fields: [{ name: "a" }, { name: "b" }] }, service, options: {} },
  );
  assert.deepEqual(
    channel.view().fields.map((field) => field.options),
    [null, null],
  );
  model.write({ service: { ...service, account: "analyst" }, options: { b: { total: 2 } } });
  assert.equal(channel.view().service.account, "analyst");
  assert.deepEqual(
    channel.view().fields.map((field) => field.options?.total),
    [undefined, 2],
  );
});
