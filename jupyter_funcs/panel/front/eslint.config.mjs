import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  {
    files: ["src/**/*.js"],
    languageOptions: { globals: globals.browser },
    rules: {
      eqeqeq: "error",
      "no-console": "error",
      "no-var": "error",
      "prefer-const": "error",
      // A text of a service is shown as text.
      "no-restricted-properties": ["error", ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({ property }))],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "eval"],
      "no-restricted-syntax": ["error", { selector: "Literal[value='dangerouslySetInnerHTML']", message: "A text is shown as text." }],
    },
  },
  { files: ["test/**/*.js", "*.mjs"], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
];
