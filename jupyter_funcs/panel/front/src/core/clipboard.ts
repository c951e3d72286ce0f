/** Copy what is selected in a box made for it, as a page without a clipboard can. */
function copiedBySelection(text: string) {
  const box = document.createElement("textarea");
  box.value = text;
  box.style.cssText = "position: fixed; opacity: 0";
  const before = document.activeElement as HTMLElement | null;
  document.body.append(box);
  box.select();
  const isDone = document.execCommand?.("copy") ?? false;
  box.remove();
  before?.focus({ preventScroll: true });
  return isDone;
}

/**
 * Copy by the clipboard, or where a page has none (without TLS) by a selection; whether that was
 * allowed.
 */
export async function copied(text: string) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedBySelection(text);
  }
}
