// The module "trunkline/plugin/test".
export type { PluginHarness, TestPluginOptions, TestTool } from "./test/test-plugin.ts";
export { testPlugin } from "./test/test-plugin.ts";
