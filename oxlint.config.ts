import { defineConfig } from "oxlint";
import { layerRules } from "./layers.ts";

const TESTS = ["**/*.test.ts", "test/**"];

export default defineConfig({
  plugins: ["eslint", "typescript", "unicorn", "oxc", "import", "promise", "node"],
  categories: { correctness: "error", suspicious: "error" },
  options: { typeAware: true, denyWarnings: true, reportUnusedDisableDirectives: "error" },
  ignorePatterns: ["dist", "**/*.gen.ts"],
  rules: {
    eqeqeq: "error",
    "no-console": "error",
    "no-shadow": "off",
    "no-underscore-dangle": "off",
    // A query is a tagged template, and running it is what it is for.
    "no-unused-expressions": ["error", { allowTaggedTemplates: true }],
    "no-var": "error",
    "prefer-const": "error",
    "max-lines": ["error", { max: 800 }],
    "import/no-cycle": "error",
    "import/no-default-export": "error",
    "promise/always-return": "off",
    "typescript/await-thenable": "error",
    // The compiler's noImplicitReturns knows better which functions may end without a value.
    "typescript/consistent-return": "off",
    "typescript/consistent-type-imports": "error",
    "typescript/no-deprecated": "error",
    "typescript/no-explicit-any": "error",
    "typescript/no-floating-promises": [
      "error",
      {
        // The runner waits for its tests.
        allowForKnownSafeCalls: [
          { from: "package", package: "node:test", name: ["test", "it", "describe", "suite"] },
        ],
      },
    ],
    "typescript/no-misused-promises": "error",
    "typescript/no-non-null-assertion": "error",
    // Narrowing by assertion is how checked data gets its type.
    "typescript/no-unsafe-type-assertion": "off",
    "typescript/only-throw-error": "error",
    "typescript/prefer-promise-reject-errors": "error",
    "typescript/return-await": ["error", "error-handling-correctness-only"],
    "typescript/switch-exhaustiveness-check": "error",
    "unicorn/consistent-function-scoping": "off",
    "unicorn/filename-case": ["error", { case: "kebabCase" }],
    // It takes a copy made because the loop changes the original for a needless one.
    "unicorn/no-useless-spread": "off",
    "unicorn/prefer-node-protocol": "error",
  },
  overrides: [
    ...layerRules(),
    {
      files: ["src/**/*.{ts,tsx}"],
      excludeFiles: TESTS,
      rules: {
        "typescript/no-unsafe-argument": "error",
        "typescript/no-unsafe-call": "error",
        "typescript/no-unsafe-member-access": "error",
        "typescript/no-unsafe-return": "error",
        // A promise that nobody waits for goes to `background`, which says what failed. A `Room` never
        // rejects. `void` would only hide it.
        "no-void": "error",
        "typescript/no-floating-promises": [
          "error",
          {
            ignoreVoid: false,
            allowForKnownSafePromises: [
              { from: "file", name: "Room", path: "src/wire/channel.ts" },
            ],
          },
        ],
      },
    },
    // The one place that looks out of src/: run from source, it reads package.json.
    { files: ["src/base/version.ts"], rules: { "no-restricted-imports": "off" } },
    { files: ["src/cli/**", "scripts/**", "bench/**"], rules: { "no-console": "off" } },
    { files: ["*.config.ts"], rules: { "import/no-default-export": "off" } },
    {
      files: TESTS,
      rules: { "no-restricted-imports": "off", "typescript/no-non-null-assertion": "off" },
    },
  ],
});
