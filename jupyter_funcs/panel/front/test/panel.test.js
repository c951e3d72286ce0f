/** What the sources does with a model, without a browser. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pass, settled, soon } from "./clock.js";
import { press, shown, type } from "./page.js";
import { ANSWERS, RESULT, STATES } from "./states.js";

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

/** A panel in one of the stage's states. */
async function staged(state, answers = {}) {
  const { traits, answers: known, after } = STATES[state];
  const panel = await shown(traits, { ...known, ...answers });
  await after?.({ ...panel, pass, settled });
  await settled();
  return panel;
}

test("a user without functions is told why, instead of being asked to search", async () => {
  const { view, ...traits } = STATES.empty.traits;
  const service = { ...view.service, functions: 0, nothing: "acme lists no functions for you." };
  const { $, close } = await shown({
    ...traits,
    view: { ...view, service, start: { cards: [], presets: [], recent: [] } },
  });
  assert.equal($("nothing").textContent, "acme lists no functions for you.");
  assert.ok(!$("start-search"));
  await close();
});

test("a card says that its function changes data", async () => {
  const { view, ...traits } = STATES.empty.traits;
  const [first, second] = view.start.cards;
  const cards = [{ ...first, changesData: true }, second];
  const { $, close } = await shown({
    ...traits,
    view: { ...view, start: { ...view.start, cards } },
  });
  assert.match($(`card:${first.id}`).textContent, /Changes data · /);
  assert.doesNotMatch($(`card:${second.id}`).textContent, /Changes data/);
  await close();
});

test("a file is a picture by its address, a player, a text, or what it is", async () => {
  const address = (element) => element.getAttribute("src").slice(0, 26);
  const image = await staged("file-image");
  await soon(() => assert.ok(image.$("file").querySelector("img")));
  assert.equal(address(image.$("file").querySelector("img")), "data:image/svg+xml;base64,");
  assert.equal(image.el.querySelectorAll("script").length, 0);
  assert.equal(image.$("tab:table").textContent, "File");
  assert.ok(!image.$("grid"));
  await image.close();
  const audio = await staged("file-audio");
  await soon(() =>
    assert.equal(address(audio.$("file").querySelector("audio")), "data:audio/wav;base64,UklG"),
  );
  await audio.close();
  const text = await staged("file-text");
  await soon(() =>
    assert.match(text.$("file").querySelector("pre").textContent, /^# Sales\n\nUp.*<b>/),
  );
  assert.equal(text.$("file").querySelectorAll("pre b").length, 0);
  await text.close();
});

test("a file is saved as itself", async () => {
  const { model, $, el, close } = await staged("file-other", { save: { said: "Saved." } });
  assert.match($("file").textContent, /get_report\.pdf.*application\/pdf, 12\.3 kB/);
  assert.equal(model.asked.filter(({ kind }) => kind === "file").length, 0);
  assert.equal(el.ownerDocument.querySelectorAll('[data-jf="save:csv"]').length, 0);
  $("save:file").click();
  await soon(() => assert.ok(model.asked.some(({ kind }) => kind === "save")));
  const { format, name } = model.asked.find(({ kind }) => kind === "save");
  assert.deepEqual([format, name], ["file", "get_report.pdf"]);
  await close();
});

test("every state is drawn", async () => {
  for (const state of Object.keys(STATES)) {
    const { root, close } = await shown(STATES[state].traits, STATES[state].answers);
    assert.ok(root.querySelector(".jf-head"), state);
    assert.match(root.dataset.state, /^(empty|form|running|done|failed|gone)$/, state);
    await close();
  }
});

test("two views of one model show the same, and each leaves on its own", async () => {
  const first = await staged("table");
  const { model, root, el, close } = await shown({}, {}, first.model);
  model.write({ tab: "code" });
  for (const each of [first.el, el])
    await soon(() =>
      assert.equal(
        each.querySelector('[data-jf="tab:code"]').getAttribute("aria-selected"),
        "true",
      ),
    );
  await first.close();
  assert.ok(el.contains(root));
  await close();
  assert.equal(el.childElementCount, 0);
});

test("a kernel that is gone is said at once, and nothing can be asked of it", async () => {
  const { model, root, $, close } = await staged("table");
  model.die();
  await soon(() => assert.equal(root.dataset.state, "gone"));
  assert.match(
    $("kernel-gone").textContent,
    /The kernel has stopped. Run the cell again to continue./,
  );
  for (const hook of ["picker", "presets", "history", "menu", "save", "var-name"])
    assert.equal($(hook).disabled, true, hook);
  assert.equal($("summary").textContent, RESULT.summary);
  await close();
});

test("waiting for the kernel is said after half a second", async () => {
  const { $, model, close } = await staged("busy");
  assert.equal($("waiting").textContent, "Waiting for the kernel…");
  model.event({
    re: model.asked.find((each) => each.kind === "refresh").id,
    said: "Nothing has changed.",
  });
  await soon(() => assert.equal($("waiting").textContent, ""));
  await close();
});

test("keys typed in the panel are no commands of the notebook, and keys with Ctrl still are", async () => {
  const { $, el, close } = await staged("table");
  const tab = $("tab:chart");
  press(tab, "a");
  assert.equal(tab.getAttribute("data-lm-suppress-shortcuts"), "true");
  press($("panel").firstElementChild, "b");
  press(tab, "s", { ctrlKey: true });
  assert.ok(!tab.closest("[data-lm-suppress-shortcuts]"));
  for (const key of ["Enter", "a"]) {
    tab.removeAttribute("data-lm-suppress-shortcuts");
    press(tab, key, { ctrlKey: true });
    assert.equal(tab.getAttribute("data-lm-suppress-shortcuts"), "true", key);
  }
  press(el, "a");
  assert.equal(el.hasAttribute("data-lm-suppress-shortcuts"), false);
  await close();
});

test("Ctrl+Enter runs, and what a run asks is answered in a banner", async () => {
  const { $, model, close } = await staged("asks");
  assert.equal(model.asked.at(-1).kind, "run");
  assert.deepEqual(model.asked.at(-1).values, {}); // the kernel holds them
  assert.match($("asks").textContent, /2,400 runs/);
  $("asks-run").click();
  await soon(() => assert.equal(model.asked.at(-1).confirmed, true));
  await close();
});

test("the picker searches in the kernel, marks words as text, and is used by keys alone", async () => {
  const wild = {
    ...ANSWERS.functions({ query: "" }).sections[0].functions[0],
    name: "Get <b>Panel</b>",
  };
  const { $, model, close } = await staged("table", {
    functions: ({ query }) =>
      query
        ? {
            sections: [{ title: "", functions: [wild, { ...wild, id: "other" }] }],
            total: 7,
            found: 2,
          }
        : ANSWERS.functions({ query }),
    favourite: {},
  });
  $("picker").focus();
  press($("picker"), "/");
  await soon(() => assert.equal($("picker").getAttribute("aria-expanded"), "true"));
  type($("picker-search"), "panel");
  await soon(() =>
    assert.equal($("function:get_panel_daily").querySelector("mark").textContent, "Panel"),
  );
  assert.match($("function:get_panel_daily").textContent, /Get <b>Panel<\/b>/);
  press($("picker-search"), "ArrowDown");
  const second = $("function:other");
  await soon(() => assert.equal(second.getAttribute("aria-selected"), "true"));
  assert.equal($("picker-search").getAttribute("aria-activedescendant"), second.id);
  press($("picker-search"), "d", { ctrlKey: true });
  await soon(() =>
    assert.deepEqual(
      [model.asked.at(-2).kind, model.asked.at(-2).on],
      ["favourite", !wild.favourite],
    ),
  );
  press($("picker-search"), "Enter");
  await soon(() => assert.equal(model.asked.at(-1).function, "other"));
  assert.ok(!$("picker-search"));
  await close();
});

test("a slow answer to an earlier search does not replace the later one", async () => {
  const { $, model, close } = await staged("table", { functions: null });
  const row = ANSWERS.functions({ query: "" }).sections[0].functions[0];
  const reply = (asked, name) =>
    model.event({
      re: asked.id,
      sections: [{ title: "", functions: [{ ...row, name }] }],
      total: 1,
      found: 1,
    });
  $("picker").click();
  const searches = () => model.asked.filter((each) => each.kind === "functions");
  await soon(() => assert.equal(searches().length, 1));
  type($("picker-search"), "new");
  await soon(() => assert.equal(searches().length, 2));
  const [old, young] = searches();
  reply(young, "young");
  reply(old, "old");
  await settled();
  await soon(() => assert.match($(`function:${row.id}`).textContent, /young/));
  await close();
});

test("Escape closes what is open and gives the focus back", async () => {
  const { $, close } = await staged("table");
  for (const [opener, inside] of [
    ["menu", "refresh"],
    ["presets", "preset-save"],
    ["save", "save:csv"],
  ]) {
    $(opener).click();
    await soon(() => assert.ok($(inside), opener));
    press($(inside), "Escape");
    await soon(() => assert.ok(!$(inside)));
    assert.ok(document.activeElement === $(opener));
  }
  await close();
});

test("where what has the focus goes away, what is left beside it has the focus", async () => {
  const gone = [
    ["filtered", "chip-remove:Spend", "chip-remove:Region"],
    ["error", "dismiss", "tab:table"],
    ["errors", "fix:Symbol", "field:Symbol"],
    ["controls", "unbind:Brand", "field:Brand"],
    ["constants", "unsend:note", "field:note"],
  ];
  for (const [state, hook, left] of gone) {
    const { $, model, close } = await staged(state);
    $(hook).focus();
    $(hook).click();
    const values = {
      ...model.traits.values,
      seq: 9,
      valid: true,
      wrong: [],
      fields: { ...model.traits.values.fields, Symbol: { value: "NVRA US EQUITY" } },
    };
    model.write({ values, run: { ...model.traits.run, error: null } });
    await soon(() => assert.ok(!$(hook), hook));
    await soon(() =>
      assert.ok(
        $(left).contains(document.activeElement),
        `${hook}: ${document.activeElement?.dataset.jf}`,
      ),
    );
    await close();
  }
});

test("tabs move with the arrows, and the kernel holds which is shown", async () => {
  const { $, model, close } = await staged("table");
  press($("tab:table"), "ArrowLeft");
  await soon(() => assert.equal($("tab:code").getAttribute("aria-selected"), "true"));
  assert.ok(document.activeElement === $("tab:code"));
  await soon(() => assert.ok($("code:python")));
  // One request says which tab it is for, and asks for what that shows; a table is here already.
  $("tab:table").click();
  await soon(() => assert.equal(model.asked.at(-1).tab, "table"));
  $("tab:json").click();
  await soon(() => assert.equal(model.asked.at(-1).kind, "json"));
  assert.deepEqual(
    model.asked.filter(({ tab }) => tab).map(({ kind, tab }) => [kind, tab]),
    [
      ["code", "code"],
      ["tab", "table"],
      ["json", "json"],
    ],
  );
  await close();
});

test("a variable is renamed in place; a taken name is asked about", async () => {
  const { $, model, close } = await staged("table", {
    rename: ({ name, replace }) => ({
      variable: name,
      note: replace ? "panel_daily is gone." : `${name} already exists (list).`,
      exists: !replace,
    }),
  });
  $("var-name").click();
  await soon(() => assert.ok($("var-name-input")));
  type($("var-name-input"), "spend");
  press($("var-name-input"), "Enter");
  await soon(() => assert.ok($("var-keep")?.matches(":focus"), "a second Enter replaces nothing"));
  assert.match(
    $("var-replace").closest("[role=alertdialog]").textContent,
    /^spend already exists \(list\)\./,
  );
  $("var-replace").click();
  const sent = () =>
    model.asked
      .filter((each) => each.kind === "rename")
      .map(({ name, replace }) => [name, replace]);
  await soon(() =>
    assert.deepEqual(sent(), [
      ["spend", false],
      ["spend", true],
    ]),
  );
  await soon(() =>
    assert.match(document.querySelector(".jf-toast").textContent, /panel_daily is gone/),
  );
  $("var-name").click();
  await soon(() => assert.ok($("var-name-input")));
  press($("var-name-input"), "Escape");
  await soon(() => assert.ok(document.activeElement === $("var-name")));
  await close();
});

test("a variable that the notebook deleted is said to be gone, and assigned again by a click", async () => {
  const { $, model, close } = await staged("lost", {
    rename: ({ name, replace }) => ({ variable: name, note: "", exists: !replace }),
  });
  assert.deepEqual(
    [$("var-assign").textContent, $("var-assign").title],
    ["Assign panel_daily", "panel_daily no longer holds this result. Click to assign it again."],
  );
  $("save").click();
  await soon(() => assert.ok($("save:csv")));
  $("save:csv").click();
  await soon(() =>
    assert.equal(model.asked.find(({ kind }) => kind === "save")?.name, "panel_daily.csv"),
  );
  $("var-assign").click();
  await soon(() => assert.equal($("var-replace").textContent, "Replace panel_daily")); // as it holds something else
  $("var-replace").click();
  const sent = () =>
    model.asked
      .filter((each) => each.kind === "rename")
      .map(({ name, replace }) => [name, replace]);
  await soon(() =>
    assert.deepEqual(sent(), [
      ["panel_daily", false],
      ["panel_daily", true],
    ]),
  );
  model.write({ run: { ...model.traits.run, result: RESULT } });
  await soon(() => assert.equal($("var-name").textContent, "panel_daily"));
  await close();
});

test("a name that is refused stays in its box, with the reason beside it", async () => {
  const { $, el, close } = await staged("table", {
    rename: { error: ["'2x' can't be a variable's name."] },
  });
  $("var-name").click();
  await soon(() => assert.ok($("var-name-input")));
  type($("var-name-input"), "2x");
  press($("var-name-input"), "Enter");
  await soon(() =>
    assert.match(el.querySelector(".jf-renaming [role=alert]").textContent, /'2x' can't be/),
  );
  assert.equal($("var-name-input").value, "2x");
  press($("var-name-input"), "Escape");
  await soon(() => assert.ok($("var-name") && !el.querySelector(".jf-renaming")));
  await close();
});

test("a file that exists is only replaced when asked, and others are saved at once", async () => {
  const { $, model, close } = await staged("exists");
  assert.match($("save-name").closest("form").textContent, /panel_daily.csv already exists/);
  $("save-now")
    .closest("form")
    .dispatchEvent(new Event("submit", { bubbles: true, cancelable: true }));
  const saves = () =>
    model.asked
      .filter((each) => each.kind === "save")
      .map(({ name, replace, filtered, download }) => [name, replace, filtered, download]);
  await soon(() =>
    assert.deepEqual(saves(), [
      ["panel_daily.csv", false, null, false],
      ["panel_daily.csv", true, null, false],
    ]),
  );
  await soon(() => assert.ok(!$("save-now")));
  await close();
});

test("what is filtered, found or only sorted is saved as it is shown, unless the tick is taken away", async () => {
  const { $, model, close } = await staged("table");
  $("sort:Spend").click();
  await soon(() => assert.ok($("sort:Spend").querySelector("svg")));
  $("save").click();
  await soon(() => assert.equal($("save-filtered").getAttribute("aria-checked"), "true"));
  $("save:csv").click();
  await soon(() => assert.equal(model.asked.at(-1).filtered?.sort.length, 1));
  await close();
});

test("without trust nothing is saved beside the notebook, and no variable renamed", async () => {
  const { traits } = STATES.table;
  const { $, model, close } = await shown(
    { ...traits, view: { ...traits.view, trusted: false } },
    ANSWERS,
  );
  assert.equal($("var-name").disabled, true);
  $("save").click();
  await soon(() => assert.ok($("save:csv")));
  assert.ok(!$("save-as"));
  $("save:csv").click();
  await soon(() => assert.equal(model.asked.at(-1).download, true));
  await close();
});

test("a cancelled run is said until it is dismissed, and isn't an error", async () => {
  const { $, model, close } = await staged("cancelled");
  assert.match(
    $("error").textContent,
    /^Cancelled after 4 of 24 runs\. Press Run to continue\. {2}The result below is from an earlier run\./,
  );
  assert.ok(!$("error").querySelector(".is-bad"));
  assert.equal($("so-far").textContent, "Show 4 finished runs");
  for (const [hook, kind] of [
    ["so-far", "so_far"],
    ["dismiss", "dismiss"],
  ]) {
    $(hook).click();
    await soon(() => assert.equal(model.asked.at(-1).kind, kind));
  }
  await close();
});

test("an error names what to do: fix, try again, details, dismiss", async () => {
  const { $, model, close } = await staged("error-first");
  $("error-fix:Symbol").click();
  await soon(() => assert.equal(model.asked.at(-1).kind, "run"));
  assert.equal(model.asked.at(-1).values.Symbol, "NVRA US EQUITY");
  for (const [hook, kind] of [
    ["retry", "run"],
    ["dismiss", "dismiss"],
  ]) {
    $(hook).click();
    await soon(() => assert.equal(model.asked.at(-1).kind, kind));
  }
  await close();
});

test("a sweep that failed in part lists what failed, and runs those again", async () => {
  const { $, model, close } = await staged("partial");
  assert.match($("failed:KORD LN EQUITY").textContent, /No data/);
  for (const [hook, rows] of [
    ["retry-failed", []],
    ["retry:KORD LN EQUITY", [0]],
  ]) {
    $(hook).click();
    await soon(() =>
      assert.deepEqual([model.asked.at(-1).kind, model.asked.at(-1).rows], ["retry_failed", rows]),
    );
  }
  await close();
});

test("the empty panel offers functions, examples, presets and recent runs", async () => {
  const { $, model, root, close } = await staged("empty");
  assert.equal(root.dataset.state, "empty");
  for (const [hook, kind, field, value] of [
    ["try:get_kpis", "example", "function", "get_kpis"],
    ["open:get_kpis", "choose", "function", "get_kpis"],
    ["recent:9", "open", "number", 9],
    ["recent:7", "again", "number", 7],
    ["star:get_kpis", "favourite", "on", true],
  ]) {
    $(hook).click();
    await soon(() =>
      assert.deepEqual([model.asked.at(-1).kind, model.asked.at(-1)[field]], [kind, value], hook),
    );
  }
  await close();
});

test("the theme is told from light and dark, and followed", async () => {
  const { root, close } = await staged("table");
  assert.equal(root.hasAttribute("data-dark"), false);
  document.body.style.backgroundColor = "rgb(17, 17, 17)";
  document.body.setAttribute("data-jp-theme-light", "false");
  await soon(() => assert.equal(root.hasAttribute("data-dark"), true));
  document.body.removeAttribute("style");
  await close();
});

test("the handle at the edge folds the inputs above the result, and the line unfolds them", async () => {
  const { $, el, close } = await staged("table");
  $("fold-handle").click();
  await soon(() => assert.ok(el.querySelector(".is-stacked .is-folded")));
  $("unfold-handle").click();
  await soon(() => assert.ok(!el.querySelector(".is-stacked")));
  press($("grid"), "[");
  await soon(() => assert.ok(el.querySelector(".is-stacked")));
  await close();
});

test("a field is one stop of the Tab key: Alt+↓ opens its menu, and F1 its help", async () => {
  const { $, el, close } = await staged("form");
  const stops = $("field:PanelName").querySelectorAll(":is(button, input):not([tabindex='-1'])");
  assert.equal(stops.length, 1);
  press(stops[0], "ArrowDown", { altKey: true });
  await soon(() => assert.ok(el.querySelector("[role=menu]")));
  press(el.querySelector("[role=menu]"), "Escape");
  press(stops[0], "F1");
  await soon(() => assert.ok(el.querySelector(".jf-infopop")));
  await close();
});
