const SUPPRESS = "data-lm-suppress-shortcuts";

/**
 * Keep keys typed in the panel from being commands of the notebook, which listens to buttons and
 * boxes too: it looks at this attribute of the target and of what it is in, before any listener
 * inside the panel.
 */
export function trapKeys(root: HTMLElement, signal: AbortSignal) {
  const letThrough = () => {
    for (const element of root.querySelectorAll(`[${SUPPRESS}]`)) element.removeAttribute(SUPPRESS);
  };
  const trap = (event: KeyboardEvent) => {
    const [target] = event.composedPath();
    if (!(target instanceof Element) || !root.contains(target)) return;
    const isCommand = (event.ctrlKey || event.metaKey) && !/^(enter|[ag ])$/i.test(event.key);
    if (isCommand) letThrough();
    else target.setAttribute(SUPPRESS, "true");
  };
  window.addEventListener("keydown", trap, { capture: true, signal });
}
