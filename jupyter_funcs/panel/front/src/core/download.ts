/** Hand a file to the browser. */
export function download(name: string, href: string) {
  Object.assign(document.createElement("a"), { download: name, href }).click();
  setTimeout(() => URL.revokeObjectURL(href), 60_000);
}
