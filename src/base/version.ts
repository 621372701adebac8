import packageJson from "../../package.json" with { type: "json" };

/** Put in by the bundler, which then leaves package.json out. Not there when run from source. */
declare const __TRUNKLINE_VERSION__: string | undefined;

export const VERSION: string =
  typeof __TRUNKLINE_VERSION__ === "string" ? __TRUNKLINE_VERSION__ : packageJson.version;
