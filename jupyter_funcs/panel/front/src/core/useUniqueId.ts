import { useState } from "preact/hooks";

/** An id that no other panel of the page has; Preact's own begin again in each. */
export function useUniqueId() {
  const [id] = useState(() => `jf-${Math.random().toString(36).slice(2, 12)}`);
  return id;
}
