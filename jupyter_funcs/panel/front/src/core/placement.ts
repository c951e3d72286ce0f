const GAP = 4;
const MARGIN = 8;
const LEAST_ROOM = 360;
const LEAST_HEIGHT = 160;
const MOST_HEIGHT = 560;

/**
 * Put a box below a target, or above it where there is more room, and keep it within the window.
 */
export function placeBeside(box: HTMLElement, target: Element, width?: number, right = false) {
  const at = target.getBoundingClientRect();
  const most = innerWidth - 2 * MARGIN;
  const wide = Math.min(width ?? Math.max(box.offsetWidth, at.width), most);
  const below = innerHeight - at.bottom - GAP - MARGIN;
  const above = at.top - GAP - MARGIN;
  // Once above, it stays there while a list gets shorter.
  const wasAbove = box.style.top === "auto";
  const isTight = below < Math.min(box.scrollHeight, LEAST_ROOM);
  const isAbove = above > below && (wasAbove || isTight);
  const room = Math.max(isAbove ? above : below, LEAST_HEIGHT);
  const left = Math.min(right ? at.right - wide : at.left, innerWidth - wide - MARGIN);
  Object.assign(box.style, {
    width: `${wide}px`,
    maxHeight: `${Math.min(MOST_HEIGHT, room)}px`,
    left: `${Math.max(MARGIN, left)}px`,
    top: isAbove ? "auto" : `${at.bottom + GAP}px`,
    bottom: isAbove ? `${innerHeight - at.top + GAP}px` : "auto",
  });
}
