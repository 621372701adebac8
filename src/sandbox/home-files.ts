import { join } from "node:path";

/**
 * Toolchains, as paths in a home folder. They are programs and libraries: folders in which a tool also
 * keeps logins or keys are named by their parts.
 */
const TOOLCHAINS = [
  ...["bin", ".local/bin", ".local/lib", ".local/pipx", ".npm-global", ".nix-profile"],
  // Node.
  ...[
    ".nvm",
    ".fnm",
    ".volta",
    ".nodenv",
    ".bun/bin",
    ".deno/bin",
    ".yarn/bin",
    ".local/share/fnm",
  ],
  ...[".config/yarn/global", ".local/share/pnpm/pnpm", ".local/share/pnpm/bin"],
  ...[".local/share/pnpm/global", ".local/share/pnpm/nodejs", ".local/share/pnpm/.tools"],
  // Several languages.
  ...[".asdf", ".local/share/mise", ".local/share/rtx", ".sdkman/candidates", ".linuxbrew"],
  // Python.
  ...[".pyenv", ".local/share/uv", ".local/share/pipx", ".rye/shims", ".rye/py", ".poetry/bin"],
  ...["miniconda3", "anaconda3", "miniforge3", "mambaforge", ".pixi/bin", ".pixi/envs"],
  // Rust, Go, and other languages.
  ...[".cargo/bin", ".rustup", "go/bin", ".goenv", ".gvm", ".local/go"],
  ...[".rbenv", ".rvm", ".jenv", ".jabba", ".ghcup", ".cabal/bin", ".opam", ".elan", ".juliaup"],
  ...[".swiftly", ".local/share/swiftly", ".kiex", ".plenv", ".phpenv", "flutter", "Android/Sdk"],
  ...[".dotnet/dotnet", ".dotnet/host", ".dotnet/sdk", ".dotnet/shared", ".dotnet/packs"],
  ...[".dotnet/tools", ".foundry/bin", ".foundry/versions", ".wasmtime/bin", ".emsdk"],
  ...[".krew/bin", ".tfenv", ".pulumi/bin", ".local/share/coursier/bin"],
  // Browsers for tests: large, and only read.
  ...[".cache/ms-playwright", ".cache/puppeteer", ".cache/Cypress"],
];

/** The only files of a person's home folder that a sandbox shows by itself. */
export function toolchainsIn(home: string): string[] {
  return TOOLCHAINS.map((path) => join(home, path));
}
