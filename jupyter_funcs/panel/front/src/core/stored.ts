/** What the page keeps over a reload; a page may have no storage. */
export function stored(key: string): any {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** Keep a value over a reload; a page may have no storage, or a full one. */
export function store(key: string, value: object) {
  try {
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // Then it is lost.
  }
}
