/** The header: a long catalog by pages, help within the panel, and presets that come with the demo. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { pass, settled, soon } from "./clock.js";
import { press, shown, type } from "./page.js";
import { ANSWERS, STATES } from "./states.js";

const listed = (from, to) =>
  Array.from({ length: Math.max(0, to - from) }, (_, at) => ({
    id: `get_${from + at}`,
    name: `Get ${from + at}`,
    about: "",
    group: "All",
    favourite: false,
    changesData: false,
  }));
const functions = ({ from }) => ({
  sections: [{ title: "All", functions: listed(from, Math.min(from + 100, 250)) }],
  total: 250,
  found: 250,
});

test("a long catalog is listed to its end as it is scrolled, under one heading", async () => {
  const { model, el, $, close } = await shown(STATES.form.traits, { ...ANSWERS, functions });
  $("picker").click();
  await soon(() => assert.ok($("function:get_99")));
  const list = el.querySelector(".jf-list");
  for (const name of ["clientHeight", "scrollHeight"])
    Object.defineProperty(list, name, { value: 100 });
  for (const last of ["function:get_199", "function:get_249"]) {
    list.dispatchEvent(new el.ownerDocument.defaultView.Event("scroll"));
    await soon(() => assert.ok($(last)));
  }
  list.dispatchEvent(new el.ownerDocument.defaultView.Event("scroll"));
  await settled();
  assert.deepEqual(
    model.asked.filter(({ kind }) => kind === "functions").map(({ from }) => from),
    [0, 100, 200],
  );
  assert.equal(list.querySelectorAll(".jf-ph").length, 1);
  await close();
});

test("Enter takes what matches the words typed, not what was listed before them", async () => {
  const answers = {
    ...ANSWERS,
    functions: ({ query }) => ({
      sections: [{ title: "", functions: query ? listed(7, 8) : listed(0, 3) }],
      total: 250,
      found: 3,
    }),
  };
  const { model, $, close } = await shown(STATES.empty.traits, answers);
  $("picker").click();
  await soon(() => assert.ok($("function:get_0")));
  type($("picker-search"), "seven");
  await pass(5);
  press($("picker-search"), "Enter");
  await soon(() =>
    assert.deepEqual(
      model.asked.filter(({ kind }) => kind === "choose").map((each) => each.function),
      ["get_7"],
    ),
  );
  await close();
});

test("Documentation says what the function takes, as text and without a request", async () => {
  const { model, $, el, close } = await shown(STATES.docs.traits, ANSWERS);
  const before = model.asked.length;
  $("menu").click();
  await soon(() => assert.ok($("docs")));
  $("docs").click();
  await soon(() =>
    assert.match(
      $("docs-box").textContent,
      /Get Panel Daily.*Panel \*.*Years back.*%funcs describe get_panel_daily/s,
    ),
  );
  assert.equal(model.asked.length, before);
  assert.equal(el.querySelectorAll("[href], [src]").length, 0);
  await close();
});

test("a shipped preset is offered and never listed for deletion; the box goes with the last of the others", async () => {
  const { model, $, close } = await shown(STATES.form.traits, {
    ...ANSWERS,
    preset_delete: { said: "Deleted." },
  });
  $("presets").click();
  await soon(() => assert.match($("preset:Quarter to date vs last year").textContent, /MCHQ/));
  $("preset-manage").click();
  await soon(() => assert.ok($("preset-delete:NVRA by region")));
  assert.ok(!$("preset-delete:Quarter to date vs last year"));
  for (const [name, left] of [
    ["Restaurants, weekly check", true],
    ["NVRA by region", false],
  ]) {
    $(`preset-delete:${name}`).focus();
    $(`preset-delete:${name}`).click();
    const { view } = model.traits;
    await soon(() => assert.equal(model.asked.at(-1).name, name));
    await settled(); // the reply comes before the view without it
    model.write({ view: { ...view, presets: view.presets.filter((each) => each.name !== name) } });
    await soon(() => assert.equal(Boolean($("preset-delete:NVRA by region")), left));
  }
  await soon(() => assert.ok(document.activeElement === $("presets"))); // with the last one, the box goes
  await close();
});

test("a link is a query for a cell, and in a page of Voila its address without a token", async () => {
  for (const isPublic of [false, true]) {
    const copied = [];
    navigator.clipboard.writeText = async (text) => copied.push(text);
    const { traits } = STATES.form;
    const { model, $, close } = await shown(
      { ...traits, view: { ...traits.view, public: isPublic } },
      { ...ANSWERS, link: {}, code: { blocks: [], link: "?funcs=Get+Panel+FQ" } },
    );
    const links = () => model.asked.filter(({ kind }) => kind === "link").map(({ text }) => text);
    if (isPublic) await soon(() => assert.deepEqual(links(), [location.search]));
    $("menu").click();
    await soon(() => assert.ok($("copy-link")));
    $("copy-link").click();
    const page = isPublic ? "http://127.0.0.1:8866/voila/render/a.ipynb" : "";
    await soon(() => assert.deepEqual(copied, [`${page}?funcs=Get+Panel+FQ`]));
    assert.equal(links().length, Number(isPublic));
    await close();
  }
});
