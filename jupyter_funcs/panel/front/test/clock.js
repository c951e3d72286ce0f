/**
 * The tests' own clock, the same on every machine: time passes only while a test waits, and not
 * before all that is promised has been done. To be imported before what sets a timer.
 */
import assert from "node:assert/strict";

/** Milliseconds below which a timer is part of what the page does at once: the kernel isn't late. */
const AT_ONCE = 500;
const MINUTE = 60_000;
const FRAME = 16;
const timers = new Map();
let now = 0;
let number = 0;

const starts =
  (repeats) =>
  (run, wait = 0, ...values) => {
    number += 1;
    const id = number;
    timers.set(id, { id, at: now + wait, wait, repeats, run: () => run(...values) });
    return id;
  };
const stop = (id) => void timers.delete(id);
Object.assign(globalThis, {
  setTimeout: starts(false),
  setInterval: starts(true),
  clearTimeout: stop,
  clearInterval: stop,
  requestAnimationFrame: (run) => setTimeout(run, FRAME),
  cancelAnimationFrame: stop,
});
Date.now = () => 1e12 + now;
performance.now = () => now;

/** All that is promised is done, before the next macrotask of Node's. */
const turn = () => new Promise((resolve) => setImmediate(resolve));
const soonest = (isMeant = () => true) =>
  [...timers.values()].filter(isMeant).sort((one, other) => one.at - other.at)[0];

function fire(timer) {
  now = timer.at;
  if (timer.repeats) timer.at += timer.wait;
  else timers.delete(timer.id);
  timer.run();
  return turn();
}

async function reach(end) {
  for (let timer = soonest(); timer?.at <= end; timer = soonest()) await fire(timer);
  now = end;
}

/** Let time pass. */
export async function pass(milliseconds) {
  await turn();
  await reach(now + milliseconds);
}

/** Let time pass until the page is at rest: what was typed is sent, what is asked answered and drawn. */
export async function settled() {
  const isShort = ({ wait, repeats }) => wait < AT_ONCE && !repeats;
  const end = now + MINUTE;
  await turn();
  for (let timer = soonest(isShort); timer; timer = soonest(isShort)) {
    if (now > end) throw new Error("The page isn't at rest after a minute.");
    await reach(timer.at);
  }
}

/** Let time pass until an assertion holds; after a minute it fails as the assertion does. */
export async function soon(assertion) {
  for (const end = now + MINUTE; ; ) {
    try {
      return assertion();
    } catch {
      await turn();
      const timer = soonest();
      if (!timer || timer.at > end) return assertion();
      await fire(timer);
    }
  }
}

/** Let time pass until something is there, and return it. */
export const until = (find) =>
  soon(() => {
    const found = find();
    assert.ok(found, `${find}`);
    return found;
  });
