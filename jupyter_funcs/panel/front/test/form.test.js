/** The inputs: what is typed and chosen becomes requests, and what the kernel says stands at the fields. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pass, settled, soon } from "./clock.js";
import { groupsOf, RUN, VALUES, VIEW } from "./fake.js";
import { press, shown, type } from "./page.js";

const field = (name, control, more = {}) => ({
  name,
  label: name,
  control,
  required: false,
  more: false,
  short: false,
  hint: "",
  default: null,
  help: `Help of ${name}.`,
  brief: "",
  knownFrom: "Type declared by the catalog.",
  options: null,
  open: false,
  flag: null,
  minimum: null,
  maximum: null,
  integer: false,
  strict: true,
  constants: [],
  ...more,
});
const page = (rows, more = {}) => {
  const options = rows.map(([value, label = "", group = ""]) => ({ value, label, group }));
  return {
    options,
    total: rows.length,
    groups: groupsOf(options),
    note: "",
    at: null,
    again: false,
    asking: false,
    ...more,
  };
};
const SYMBOLS = page([
  ["NVRA US EQUITY", "Nuvarelle Outfitters", "Retail"],
  ["KORD US EQUITY", "Kordrivet Auto Parts", "Retail"],
  ["KORD LN EQUITY", "Kordelisse Fashions", "Retail"],
  ["MCHQ US EQUITY", "Mochandrel Coffee", "Food"],
]);
const open = (fields, states = {}, more = {}, answers = {}) => {
  const values = {
    ...VALUES,
    fields: Object.fromEntries(fields.map(({ name }) => [name, states[name] ?? {}])),
    ...more,
  };
  return shown({ view: { ...VIEW, fields }, values, run: more.run ?? RUN }, answers);
};
const box = ($, name) => $(`field:${name}`).querySelector(".jf-box input, .jf-box textarea");
const sent = (model) =>
  model.asked.filter(({ kind }) => kind === "set").map(({ field: name, value }) => [name, value]);
const options = (el) =>
  [...el.querySelectorAll('[role="option"]')].map((each) =>
    each.dataset.jf?.replace("option:", ""),
  );

test("a text is sent once typing pauses, and an answer never overwrites later typing", async () => {
  const { model, $, close } = await open([field("a", "text")], {}, {}, { set: null });
  type(box($, "a"), "x");
  await settled();
  type(box($, "a"), "xy");
  model.write({ values: { ...model.traits.values, seq: 1, fields: { a: { value: "x" } } } });
  await pass(20);
  assert.equal(box($, "a").value, "xy");
  await settled();
  assert.deepEqual(sent(model), [
    ["a", "x"],
    ["a", "xy"],
  ]);
  type(box($, "a"), "  ");
  await settled();
  assert.deepEqual(sent(model).at(-1), ["a", "  "]); // white space is content
  type(box($, "a"), "");
  await settled();
  assert.deepEqual(sent(model).at(-1), ["a", null]);
  await close();
});

test("a combobox finds by value and label, marks what matched, and takes what is chosen by key", async () => {
  const { model, el, $, close } = await open([field("Symbol", "choice", { options: SYMBOLS })]);
  const input = box($, "Symbol");
  type(input, "ko");
  await settled();
  assert.deepEqual(options(el), ["KORD US EQUITY", "KORD LN EQUITY"]);
  assert.equal(el.querySelector("mark").textContent, "KO");
  assert.equal(input.getAttribute("aria-expanded"), "true");
  press(input, "ArrowDown");
  await settled();
  assert.equal(
    document.getElementById(input.getAttribute("aria-activedescendant")).dataset.jf,
    "option:KORD LN EQUITY",
  );
  press(input, "Enter");
  await settled();
  assert.deepEqual(sent(model), [["Symbol", "KORD LN EQUITY"]]);
  assert.equal(options(el).length, 0);
  await close();
});

test("Other… that is left without a text keeps the value; a text that is deleted clears it", async () => {
  const { model, $, close } = await open(
    [field("a", "choice", { options: page([["x"], ["y"]]), open: true })],
    { a: { value: "x" } },
  );
  const input = box($, "a");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"]) {
    press(input, key);
    await settled();
  }
  assert.equal(input.placeholder, "Type any value");
  input.dispatchEvent(new Event("blur"));
  await settled();
  assert.deepEqual(sent(model), []);
  type(input, "");
  await settled();
  input.dispatchEvent(new Event("blur"));
  await settled();
  assert.deepEqual(sent(model), [["a", null]]);
  await close();
});

test("a combobox of declared options has no Other, an open one takes any text; Escape takes nothing", async () => {
  const fields = [
    field("a", "choice", { options: page([["x"], ["y"]]) }),
    field("b", "choice", { options: page([["x"]]), open: true }),
  ];
  const { model, el, $, close } = await open(fields);
  box($, "a").click();
  await settled();
  assert.deepEqual(options(el), ["x", "y"]);
  press(box($, "a"), "Escape");
  await settled();
  box($, "b").click();
  await settled();
  assert.deepEqual(options(el), ["x", "other"]);
  type(box($, "b"), "new one");
  await settled();
  assert.match($("other").textContent, /Use “new one”/);
  press(box($, "b"), "Enter");
  await settled();
  assert.deepEqual(sent(model), [["b", "new one"]]);
  await close();
});

test("while options are being listed, Enter waits for them", async () => {
  const { model, el, $, close } = await open([
    field("a", "choice", {
      open: true,
      options: page([], { asking: true, note: "Listing symbols…" }),
    }),
  ]);
  type(box($, "a"), "ko");
  await settled();
  press(box($, "a"), "Enter");
  await settled();
  assert.deepEqual(sent(model), []);
  model.write({ options: { a: SYMBOLS } });
  await settled();
  assert.deepEqual(options(el).slice(0, 2), ["KORD US EQUITY", "KORD LN EQUITY"]);
  press(box($, "a"), "Enter");
  await settled();
  assert.deepEqual(sent(model), [["a", "KORD US EQUITY"]]);
  await close();
});

for (const [name, typed, taken] of [
  ["code", "mchq us equity", "MCHQ US EQUITY"],
  ["name", "kordelisse fashions", "KORD LN EQUITY"],
  ["part of a name", "Kord", "Kord"],
]) {
  test(`a ${name} that is left with Tab is taken, before the options are there too`, async () => {
    const { model, $, close } = await open(
      [
        field("a", "choice", { open: true, options: SYMBOLS }),
        field("b", "choice", { open: true, options: page([], { asking: true }) }),
      ],
      {},
      {},
      { options: SYMBOLS },
    );
    for (const each of ["a", "b"]) {
      box($, each).focus();
      type(box($, each), typed);
      await settled();
      box($, each).dispatchEvent(new Event("blur"));
      await settled();
    }
    assert.deepEqual(sent(model), [
      ["a", taken],
      ["b", typed],
    ]);
    model.write({
      values: {
        ...model.traits.values,
        seq: 2,
        fields: { a: { value: taken }, b: { value: typed } },
      },
    });
    model.write({ options: { a: SYMBOLS, b: SYMBOLS } });
    await settled();
    assert.deepEqual(sent(model).slice(2), taken === typed ? [] : [["b", taken]]);
    await close();
  });
}

test("options beyond the page are searched in the kernel", async () => {
  const asked = [];
  const answers = {
    options({ query, from }) {
      asked.push([query, from]);
      return page([[`${query}1`], [`${query}2`]], { total: 2 });
    },
  };
  const { el, $, close } = await open(
    [field("a", "choice", { options: { ...SYMBOLS, total: 20_000 } })],
    {},
    {},
    answers,
  );
  type(box($, "a"), "zz");
  await settled();
  assert.deepEqual(asked, [["zz", 0]]);
  assert.deepEqual(options(el), ["zz1", "zz2"]);
  await close();
});

for (const [control, taken] of [
  ["choice", "NVRA"],
  ["several", ["NVRA"]],
])
  test(`Enter takes what matches the words typed, not what was listed before them: ${control}`, async () => {
    const answers = {
      options: ({ query }) => page([[query === "nvra" ? "NVRA" : "A FIRST"]], { total: 20_000 }),
    };
    const { model, $, close } = await open(
      [field("a", control, { options: { ...SYMBOLS, total: 20_000 } })],
      {},
      {},
      answers,
    );
    for (const text of ["nv", "nvra"]) {
      type(box($, "a"), text);
      await pass(5);
      press(box($, "a"), "Enter");
    }
    await settled();
    assert.deepEqual(sent(model), [["a", taken]]);
    await close();
  });

test("groups of a list beyond the page have headings with their sizes, and All takes the whole group", async () => {
  const groups = [
    ["Retail", 300],
    ["Food", 2],
  ];
  const asked = [];
  const answers = {
    options({ query, grouped, from }) {
      asked.push([query, grouped, from]);
      return query ? page([["zz", "", "Food"]]) : { ...SYMBOLS, total: 302, groups };
    },
    all_options: ({ group }) => ({ values: [`${group} 1`, `${group} 2`] }),
  };
  const { model, el, $, close } = await open(
    [field("s", "several", { options: { ...SYMBOLS, total: 302, groups } })],
    {},
    {},
    answers,
  );
  box($, "s").click();
  await soon(() =>
    assert.deepEqual(
      [...el.querySelectorAll(".jf-ph")].map((each) => each.textContent),
      ["Retail (300)All", "Food (2)All"],
    ),
  );
  assert.deepEqual(asked, [["", true, 0]]);
  assert.equal($("select-all:s").textContent, "Select all 302");
  $("group:Retail").click();
  await soon(() => assert.deepEqual(sent(model), [["s", ["Retail 1", "Retail 2"]]]));
  type(box($, "s"), "zz");
  await soon(() => assert.deepEqual(options(el), ["zz"]));
  assert.deepEqual(asked.at(-1), ["zz", false, 0]);
  assert.ok(!el.querySelector(".jf-ph"));
  await close();
});

test("a list says where it comes from and how old it is, and is listed again", async () => {
  const now = Date.now() / 1000;
  for (const [seconds, said] of [
    [0, "just now"],
    [59, "just now"],
    [61, "1 min old"],
    [250, "4 min old"],
    [3601, "1 hour old"],
    [7300, "2 hours old"],
    [49 * 3600, "2 days old"],
  ]) {
    const { model, $, el, close } = await open([
      field("a", "choice", {
        options: {
          ...SYMBOLS,
          note: "4 symbols from Get Universe",
          at: now - seconds,
          again: true,
        },
      }),
    ]);
    box($, "a").click();
    await soon(() =>
      assert.match(
        el.querySelector(".is-source").textContent,
        new RegExp(`^4 symbols from Get Universe · ${said}`),
      ),
    );
    $("ask:a").click();
    assert.deepEqual([model.asked.at(-1).kind, model.asked.at(-1).field], ["list_again", "a"]);
    await close();
  }
});

test("Enter adds a value to a list, and runs nothing; in a closed box it runs", async () => {
  const { model, $, close } = await open([field("l", "list"), field("t", "text")]);
  type(box($, "l"), "one");
  await settled();
  press(box($, "l"), "Enter");
  await soon(() => assert.deepEqual(sent(model), [["l", ["one"]]]));
  assert.ok(!model.kinds().includes("run"));
  press(box($, "t"), "Enter");
  await soon(() => assert.equal(model.asked.at(-1).kind, "run"));
  await close();
});

test("a value may occur twice in a list that is typed, and is taken away once", async () => {
  const { model, $, close } = await open([field("l", "list")], { l: { value: ["0.5", "2"] } });
  type(box($, "l"), "0.5");
  await settled();
  press(box($, "l"), "Enter");
  await soon(() => assert.deepEqual(sent(model).at(-1)[1], ["0.5", "2", "0.5"]));
  $("remove:l:0.5").click();
  await soon(() => assert.deepEqual(sent(model).at(-1)[1], ["2", "0.5"]));
  await close();
});

test("a function chosen with Enter has the focus in its first field", async () => {
  const answers = {
    functions: {
      sections: [
        {
          title: "",
          functions: [
            {
              id: "other",
              name: "Other",
              about: "",
              group: "",
              favourite: false,
              changesData: false,
            },
          ],
        },
      ],
      total: 1,
      found: 1,
    },
  };
  const chosen = (_request, model) => {
    model.write({
      view: {
        ...VIEW,
        function: { ...VIEW.function, id: "other" },
        fields: [field("first", "choice", { options: SYMBOLS }), field("b", "text")],
      },
      values: { ...VALUES, fields: { first: {}, b: {} } },
    });
    return {};
  };
  const { $, close } = await open([field("a", "text")], {}, {}, { ...answers, choose: chosen });
  $("picker").click();
  await soon(() => assert.ok($("function:other")));
  press($("picker-search"), "ArrowDown");
  press($("picker-search"), "Enter");
  await soon(() => assert.ok(document.activeElement === box($, "first")));
  await settled();
  assert.ok(document.activeElement === box($, "first"));
  await close();
});

test("what Run needs and what a rule asks for is said once, below the fields; a default is promised where it counts", async () => {
  const flag = { flag: ["Yes", "No"], default: "No", hint: "No (default)" };
  const fields = [
    field("PanelName", "text", { required: true }),
    field("Symbol", "text"),
    field("Brand", "text"),
    field("f", "flag", flag),
    field("g", "flag", { ...flag, required: true }),
  ];
  const { $, close } = await open(fields, {}, { valid: false, missing: ["PanelName", "g"] });
  assert.ok(!$("advice"));
  assert.equal($("reason").textContent, "Missing: PanelName, g");
  assert.match($("field:f").textContent, /No \(default\)/);
  assert.doesNotMatch($("field:g").textContent, /default/i);
  await close();
  const later = await open(fields, {}, { advice: ["Fill in Symbol or Brand."] });
  assert.equal(later.el.textContent.split("Fill in Symbol or Brand.").length, 2);
  assert.doesNotMatch(later.el.textContent, /not sent/);
  await later.close();
});

test("several values are chips: chosen, taken away, all, by group, and pasted", async () => {
  const answers = { paste: { values: ["MCHQ US EQUITY", "ZZ"], unknown: ["ZZ"], repeated: 2 } };
  const fields = [field("s", "several", { options: SYMBOLS })];
  const { model, el, $, close } = await open(
    fields,
    { s: { value: ["NVRA US EQUITY"], unknown: [] } },
    {},
    answers,
  );
  box($, "s").click();
  await settled();
  assert.equal($("select-all:s").textContent, "Select all 4");
  $("group:Retail").click();
  await settled();
  assert.deepEqual(sent(model).at(-1)[1], ["NVRA US EQUITY", "KORD US EQUITY", "KORD LN EQUITY"]);
  assert.match(el.querySelector(".jf-chip").textContent, /^NVRA/);
  $("select-all:s").click();
  await settled();
  assert.equal(sent(model).at(-1)[1].length, 4);
  $("remove:s:KORD LN EQUITY").click();
  await settled();
  assert.equal(sent(model).at(-1)[1].length, 3);
  const event = new Event("paste", { bubbles: true, cancelable: true });
  event.clipboardData = { getData: () => "MCHQ\nZZ" };
  box($, "s").dispatchEvent(event);
  await settled();
  assert.ok(sent(model).at(-1)[1].includes("ZZ"));
  assert.match(el.textContent, /2 values pasted, 1 not in the list, 2 repeats left out/);
  press(box($, "s"), "Backspace");
  await settled();
  assert.ok(!sent(model).at(-1)[1].includes("ZZ"));
  await close();
});

test("what is chosen while a pasted list is read stays chosen, whichever way it was pasted", async () => {
  const options = page([["A"], ["B"], ["C"], ["D"]]);
  const { model, $, close } = await open(
    [field("s", "several", { options })],
    { s: { value: ["A"] } },
    {},
    { paste: null },
  );
  const choose = async (value) => {
    box($, "s").click();
    await settled();
    type(box($, "s"), value);
    await settled();
    press(box($, "s"), "Enter");
    await settled();
  };
  const read = async (values) => {
    const { id } = model.asked.findLast(({ kind }) => kind === "paste");
    model.emit("msg:custom", { v: 1, re: id, values, unknown: [], repeated: 0 });
    await settled();
  };
  const event = new Event("paste", { bubbles: true, cancelable: true });
  event.clipboardData = { getData: () => "X1\nX2" };
  box($, "s").dispatchEvent(event);
  await choose("B");
  await read(["X1", "X2"]);
  assert.deepEqual(sent(model).at(-1), ["s", ["A", "B", "X1", "X2"]]);
  $("field-menu:s").click();
  await soon(() => $("paste-menu:s").click());
  await soon(() => type($("paste-text:s"), "Y1"));
  $("paste-add:s").click();
  await choose("C");
  await read(["Y1"]);
  assert.deepEqual(sent(model).at(-1), ["s", ["A", "B", "X1", "X2", "C", "Y1"]]);
  await close();
});

test("a text that is found among late options doesn't replace what was chosen since", async () => {
  const asking = page([], { asking: true });
  const { model, $, close } = await open(
    [field("b", "choice", { open: true, options: asking })],
    {},
    {},
    { options: null },
  );
  box($, "b").focus();
  type(box($, "b"), "mchq us equity");
  await settled();
  box($, "b").dispatchEvent(new Event("blur"));
  await settled();
  const written = { ...model.traits.values, seq: 1, fields: { b: { value: "mchq us equity" } } };
  model.write({ values: written });
  model.write({ options: { b: SYMBOLS } });
  await settled();
  const { id } = model.asked.findLast(({ kind }) => kind === "options");
  model.write({ values: { ...written, seq: 2, fields: { b: { value: "NVRA US EQUITY" } } } });
  model.emit("msg:custom", { v: 1, re: id, ...SYMBOLS });
  await settled();
  assert.deepEqual(sent(model), [["b", "mchq us equity"]]);
  await close();
});

test("a field's menu runs for each, takes all, uses a variable and clears", async () => {
  const answers = {
    all_options: { values: ["a", "b"] },
    variables: { variables: [{ name: "brands", about: "list of 2", each: true }] },
  };
  const { model, $, close } = await open(
    [field("s", "choice", { options: SYMBOLS })],
    { s: { value: "x" } },
    {},
    answers,
  );
  for (const [hook, value] of [
    ["each:s", { each: ["x"] }],
    ["each-all:s", { each: ["a", "b"] }],
    ["reset:s", null],
  ]) {
    $("field-menu:s").click();
    await soon(() => $(hook).click());
    await soon(() => assert.deepEqual(sent(model).at(-1), ["s", value]));
    if (hook === "each:s")
      await soon(() => assert.equal(document.activeElement.getAttribute("aria-expanded"), "true")); // its values come next
  }
  $("field-menu:s").click();
  await soon(() => $("bind:s").click());
  await soon(() => $("use:brands").click());
  await soon(() => assert.deepEqual(sent(model).at(-1), ["s", { each: ["$brands"] }]));
  await close();
});

test("a variable is a chip that says what it holds; what is typed after $ waits for Enter", async () => {
  const { model, $, close } = await open([field("a", "text"), field("b", "text")], {
    a: { value: { variable: "one", about: "12", each: false } },
  });
  assert.equal($("variable:a").textContent, "$one12");
  type(box($, "b"), "$two");
  await settled();
  assert.deepEqual(sent(model), []);
  press(box($, "b"), "Enter");
  await settled();
  assert.equal(model.asked.at(-1).kind, "run");
  assert.equal(model.asked.at(-1).values.b, "$two");
  await close();
});

const NAMES = ["null", "empty text", "empty list"];

test("a menu offers what no text spells; it is a chip until it is cleared", async () => {
  const fields = ["text", "number", "date", "flag", "choice", "several", "list", "json"].map(
    (control) => field(control, control, { constants: NAMES }),
  );
  fields.push(field("none", "text"));
  const { model, $, close } = await open(fields);
  for (const [at, { name, constants }] of fields.entries()) {
    $(`field-menu:${name}`).click();
    await soon(() => assert.ok($(`reset:${name}`)));
    const offered = [...document.querySelectorAll(`[data-jf^="send:${name}:"]`)];
    assert.deepEqual(
      offered.map((item) => item.textContent),
      constants.map((constant) => `Send ${constant}`),
    );
    if (!constants.length) continue;
    const constant = NAMES[at % NAMES.length];
    $(`send:${name}:${constant}`).click();
    await soon(() => assert.equal($(`constant:${name}`).textContent, constant));
    await soon(() => assert.deepEqual(sent(model).at(-1), [name, { constant }]));
    assert.equal($(`unsend:${name}`).getAttribute("aria-label"), `Clear ${constant}`);
    $(`unsend:${name}`).click();
    await soon(() => assert.deepEqual(sent(model).at(-1), [name, null]));
    await soon(() => assert.ok(!$(`constant:${name}`)));
  }
  await close();
});

test("white space is content in a list of chips, in a box with values, and in lines", async () => {
  const fields = [
    field("l", "list"),
    field("c", "choice", { options: SYMBOLS, open: true }),
    field("e", "list"),
  ];
  const { model, $, close } = await open(fields, { e: { value: { each: ['" x", y', " "] } } });
  assert.match($("field:e").textContent, /each of 1 line/); // a blank line isn't a list
  for (const [name, value] of [
    ["l", [" x "]],
    ["l", [" x ", " "]],
    ["c", " x"],
  ]) {
    const input = box($, name);
    type(input, Array.isArray(value) ? value.at(-1) : value);
    await settled();
    input.dispatchEvent(new Event("blur"));
    await soon(() => assert.deepEqual(sent(model).at(-1), [name, value]));
  }
  await close();
});

test("yes, no and default are three segments; another value is a text", async () => {
  const fields = [
    field("a", "flag", { flag: ["true", "false"], default: "false", hint: "No (default)" }),
    field("b", "flag", { flag: ["Yes", "No"] }),
  ];
  const { model, $, close } = await open(fields, { b: { value: "Maybe" } });
  assert.equal($("value:a:Default").getAttribute("aria-checked"), "true");
  assert.match($("field:a").textContent, /No \(default\)/);
  $("value:a:Yes").click();
  await pass(20);
  press($("value:a:Yes"), "ArrowRight");
  await settled();
  assert.deepEqual(sent(model), [["a", "false"]]);
  assert.equal(box($, "b").value, "Maybe");
  assert.ok(!document.querySelector('[data-jf="other:b"]'));
  await close();
});

test("a number steps within its bounds, and a date is judged at its tenth character", async () => {
  const { model, $, close } = await open([
    field("n", "number", { minimum: 1, maximum: 3, integer: true, default: "2" }),
    field("d", "date"),
  ]);
  $("more:n").click();
  $("more:n").click();
  await settled();
  assert.deepEqual(sent(model), [["n", "3"]]);
  press(box($, "n"), "ArrowDown");
  type(box($, "d"), "2025-02-3");
  await settled();
  assert.deepEqual(sent(model).slice(1), [["n", "2"]]);
  type(box($, "d"), "2025-02-30");
  await settled();
  assert.deepEqual(sent(model).at(-1), ["d", "2025-02-30"]);
  await close();
});

test("an error stands at its field with a fix; a warning never disables Run", async () => {
  const fields = [
    field("d", "date"),
    field("s", "several", { options: SYMBOLS }),
    field("n", "number"),
  ];
  const states = {
    n: {
      value: "99",
      errors: [{ text: "n must be between 1 and 50, not 99.", use: "50", instead: "" }],
    },
    d: {
      value: "2025-02-30",
      errors: [{ text: "Enter a valid date.", use: "2025-02-28", instead: "" }],
    },
    s: {
      value: ["NVRA US EQUITY", "KORX"],
      unknown: ["KORX"],
      warnings: [
        {
          text: "'KORX' isn't in the list. Did you mean 'KORD US EQUITY'?",
          use: "KORD US EQUITY",
          instead: "KORX",
        },
      ],
    },
  };
  const { model, $, close } = await open(fields, states, { valid: false, wrong: ["d"] });
  assert.equal($("error:d").getAttribute("role"), "alert");
  assert.equal($("reason").textContent, "Check: d");
  assert.equal($("run").getAttribute("aria-disabled"), "true");
  const [date, symbol, number] = document.querySelectorAll('[data-jf^="fix:"]');
  assert.deepEqual(
    [date, symbol, number].map((each) => each.textContent),
    ["Use 2025-02-28", "Use it", "Use 50"],
  );
  date.click();
  symbol.click();
  await settled();
  assert.deepEqual(sent(model), [
    ["d", "2025-02-28"],
    ["s", ["NVRA US EQUITY", "KORD US EQUITY"]],
  ]);
  model.write({
    values: {
      ...model.traits.values,
      seq: 2,
      valid: true,
      wrong: [],
      fields: { d: {}, s: states.s },
    },
  });
  await settled();
  assert.equal($("run").getAttribute("aria-disabled"), null);
  await close();
});

test("a missing field is red once its name or Run was pressed, also under More options; Clear forgets that", async () => {
  const fields = [field("a", "text", { required: true }), field("b", "text", { more: true })];
  const { model, $, close } = await open(fields, {}, { valid: false, missing: ["a", "b"] });
  assert.equal($("reason").textContent, "Missing: a, b");
  assert.ok($("reason").classList.contains("is-soft"));
  assert.ok(!$("error:a"));
  assert.ok(!$("field:b"));
  $("reason:b").click();
  await soon(() => assert.equal($("error:b").textContent.trim(), "Required"));
  assert.ok(!$("error:a"));
  $("run").click();
  await soon(() => assert.ok($("error:a")));
  assert.equal(model.asked.at(-1).kind, "run");
  await soon(() => assert.ok(document.activeElement === box($, "a")));
  $("clear").click();
  await soon(() => assert.ok(!$("error:a")));
  assert.equal(model.asked.at(-1).kind, "clear");
  await close();
});

test("help is above Run while a field or Run has the focus, and whole in its box", async () => {
  const { $, close } = await open([
    field("a", "text", { help: "First. Second.", brief: "First." }),
  ]);
  box($, "a").dispatchEvent(new Event("focusin", { bubbles: true }));
  await settled();
  assert.equal($("help-line").textContent, "a: First.");
  $("help:a").click();
  await settled();
  assert.match(document.querySelector(".jf-infopop").textContent, /First\. Second\./);
  for (const [to, many] of [
    ["run", 1],
    ["picker", 0],
  ]) {
    $(to).focus();
    await soon(() => assert.equal(document.querySelectorAll('[data-jf="help-line"]').length, many));
  }
  await close();
});

test("help stays while the pointer is pressed, wherever that is", async () => {
  const { $, close } = await open([field("a", "text")]);
  box($, "a").focus();
  await soon(() => assert.ok($("help-line")));
  $("picker").dispatchEvent(new Event("pointerdown", { bubbles: true }));
  $("picker").focus();
  await settled();
  assert.ok($("help-line"));
  window.dispatchEvent(new Event("pointerup"));
  await soon(() => assert.equal($("help-line"), null));
  await close();
});

test("a run shows its progress and can be cancelled, in the folded line too", async () => {
  const run = {
    ...RUN,
    state: "running",
    running: { name: "F", elapsed: 3.4, bytes: 0, done: 6, of: 24, note: "" },
  };
  const { model, $, close } = await open(
    [field("a", "several")],
    { a: { value: ["x", "y"] } },
    { run },
  );
  assert.equal($("progress-text").textContent, "6 of 24 runs");
  model.event({ ev: "progress", running: { ...run.running, done: 7, note: "1 failed" } });
  await settled();
  assert.equal($("progress-text").textContent, "7 of 24 runs · 1 failed");
  model.write({ run: { ...run, running: { ...run.running, done: 0, of: 1, bytes: 2e6 } } });
  await settled();
  assert.equal($("progress-text").textContent, "Receiving, 2.0 MB");
  model.write({ run });
  await settled();
  assert.equal($("progress").getAttribute("aria-valuenow"), "25");
  assert.match($("elapsed").textContent, /^3\.\d s$/);
  assert.equal($("fold").querySelector(".jf-chip").textContent, "x, y");
  $("cancel").click();
  await settled();
  assert.equal(model.asked.at(-1).kind, "cancel");
  await close();
});

test("Cancel takes the focus of Run, and not that of who has gone on", async (t) => {
  const width = Object.getOwnPropertyDescriptor(HTMLElement.prototype, "offsetWidth");
  Object.defineProperty(HTMLElement.prototype, "offsetWidth", {
    configurable: true,
    get: () => 80,
  });
  t.after(() => Object.defineProperty(HTMLElement.prototype, "offsetWidth", width));
  const { model, $, close } = await open([field("a", "text")], { a: { value: "x" } });
  const running = {
    ...RUN,
    state: "running",
    running: { name: "F", elapsed: 0, bytes: 0, done: 0, of: 1, note: "" },
  };
  for (const start of ["run", "history"]) {
    $(start).focus();
    model.write({ run: running });
    await soon(() => assert.ok($("progress-text")));
    await settled();
    assert.match(document.activeElement.dataset.jf, start === "run" ? /^cancel/ : /^history$/);
    model.write({ run: RUN });
    await soon(() => assert.ok($("run")));
    await settled();
    assert.match(document.activeElement.dataset.jf, start === "run" ? /^run/ : /^history$/);
  }
  await close();
});

test("the folded line begins with what is required or was entered, not with what is the default anyway", async () => {
  const fields = [
    field("unit", "choice", { default: "month" }),
    field("n", "number", { default: "1" }),
    field("panel", "choice", { required: true, default: "Card" }),
    field("symbol", "choice"),
  ];
  const { $, close } = await open(fields, {
    unit: { value: "month" },
    n: { value: "2" },
    panel: { value: "Card" },
    symbol: { value: "MCHQ" },
  });
  const chips = [...$("fold").querySelectorAll(".jf-chip")];
  assert.deepEqual(
    chips.map((chip) => chip.textContent),
    ["n 2", "Card", "MCHQ", "month"],
  );
  await close();
});

test("a sweep says how many runs it makes, and markup in any text stays text", async () => {
  const bad = "<img src=x onerror=alert(1)>\u202e";
  const fields = [
    field(bad, "several", {
      label: bad,
      help: bad,
      hint: bad,
      options: page(
        [
          [bad, bad, bad],
          ["y", "", bad],
        ],
        { note: bad },
      ),
      knownFrom: bad,
    }),
  ];
  const states = {
    [bad]: {
      value: { each: [bad, "y"] },
      warnings: [{ text: bad, use: bad, instead: "" }],
      notes: [bad],
    },
  };
  const { el, $, close } = await open(fields, states, { runs: 24, advice: [bad] });
  assert.equal($("run").textContent, "Run 24 times");
  el.querySelector('[data-jf^="field-menu"]').click();
  el.querySelector('[data-jf^="show:"]')?.dispatchEvent(
    new MouseEvent("mousedown", { bubbles: true, cancelable: true }),
  );
  await settled();
  assert.ok(!el.querySelector("img"));
  assert.ok(el.textContent.includes("<img src=x"));
  await close();
});

test("two panels of a page share no id", async () => {
  const [one, two] = [
    await open([field("a", "choice", { options: SYMBOLS })]),
    await open([field("a", "choice", { options: SYMBOLS })], {}, { valid: false, missing: ["a"] }),
  ];
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  assert.ok(ids.length >= 4);
  assert.equal(new Set(ids).size, ids.length);
  await one.close();
  await two.close();
});

test("fields and options may be named as what every object of the page has", async () => {
  const names = ["constructor", "toString", "__proto__", "hasOwnProperty"];
  const listed = page(names.map((name) => [name]));
  for (const control of ["text", "list", "several"]) {
    const fields = names.map((name) => field(name, control));
    // What is empty is left out by the kernel.
    const options = control === "several" ? { ["__proto__"]: listed } : {};
    const values = { ...VALUES, fields: {} };
    const { $, model, close } = await shown({ view: { ...VIEW, fields }, values, options });
    for (const name of names) assert.equal(box($, name).value, "");
    type(box($, "__proto__"), "constructor");
    await settled();
    if (control !== "text") press(box($, "__proto__"), "Enter");
    const value = control === "text" ? "constructor" : ["constructor"];
    await soon(() => assert.deepEqual(sent(model).at(-1), ["__proto__", value]));
    await close();
  }
});

test("an object is a group of fields, and a list of objects has rows", async () => {
  const parts = [field("who.name", "text", { label: "Name", required: true })];
  const columns = [field("items[].sku", "text", { label: "Sku" })];
  const fields = [
    field("who", "group", { label: "Who", parts }),
    field("items", "rows", { label: "Items", parts: columns }),
  ];
  const states = { items: { value: { rows: 2 } } };
  const { $, model } = await open(fields, states);
  assert.ok(!$("field:who.name"));
  $("open:who").click();
  await soon(() => assert.equal($("open:who").getAttribute("aria-expanded"), "true"));
  type($("field:who.name").querySelector("input"), "Ann");
  type(box($, "items.1.sku"), "B-2");
  $("add:items").click();
  $("remove-row:items.0").click();
  const named = [
    ["who.name", "Ann"],
    ["items.1.sku", "B-2"],
  ];
  await soon(() => assert.deepEqual(sent(model), named));
  const rows = model.asked.filter(({ kind }) => kind === "row").map(({ at }) => at);
  assert.deepEqual(rows, [null, 0]);
});
