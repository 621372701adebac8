/**
 * Toolchains, as paths in a home folder: the only files there that a sandbox shows by itself. They are programs and libraries: folders in which a tool also
 * keeps logins or keys are named by their parts.
 */
export const TOOLCHAINS = [
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

/** Variables that programs need to run and that tell no secret. All others may be anything. */
const LISTED = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|COLORTERM|COLUMNS|LINES|LANG|LANGUAGE|TZ|PWD|SHLVL)$/,
  /^(?:LC_\w+|NO_COLOR|FORCE_COLOR|CLICOLOR|CI|DEBIAN_FRONTEND|SOURCE_DATE_EPOCH|LOCALE_ARCHIVE)$/,
  /^(?:EDITOR|VISUAL|PAGER|LESS|MANPAGER|INFOPATH|MANPATH|TERMINFO|TERMINFO_DIRS)$/,
  /^(?:SSL_CERT_(?:FILE|DIR)|NODE_EXTRA_CA_CERTS)$/,
  /^GIT_(?:(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|PAGER|EDITOR|TERMINAL_PROMPT)$/,
  // Compilers.
  /^(?:CC|CXX|CPP|AR|LD|(?:C|CXX|CPP|LD|RUST|RUSTDOC|GO)FLAGS|MAKEFLAGS|CMAKE_GENERATOR)$/,
  /^(?:PKG_CONFIG_PATH|LD_LIBRARY_PATH|LIBRARY_PATH|C_INCLUDE_PATH|CPLUS_INCLUDE_PATH|CPATH)$/,
  // Toolchains.
  /^(?:NODE_ENV|NODE_PATH|NVM_(?:DIR|BIN|INC)|VOLTA_HOME|FNM_DIR|NODENV_ROOT|BUN_INSTALL)$/,
  /^(?:DENO_INSTALL|PNPM_HOME|COREPACK_ENABLE_STRICT)$/,
  /^(?:PYENV_(?:ROOT|VERSION|SHELL)|VIRTUAL_ENV|CONDA_(?:PREFIX|DEFAULT_ENV|EXE)|PYTHON[A-Z]+)$/,
  /^(?:RUSTUP_(?:HOME|TOOLCHAIN)|RUST_(?:BACKTRACE|LOG)|CARGO_(?:BUILD_\w+|INCREMENTAL|TERM_\w+))$/,
  /^(?:GOROOT|GOOS|GOARCH|GOARM|GOAMD64|GO111MODULE|GOTOOLCHAIN|CGO_(?:ENABLED|[A-Z]+FLAGS))$/,
  /^(?:JAVA_HOME|JDK_HOME|SDKMAN_(?:DIR|CANDIDATES_DIR)|ANDROID_(?:HOME|SDK_ROOT|NDK_HOME))$/,
  /^(?:RBENV_(?:ROOT|VERSION)|RUBY_VERSION|DOTNET_ROOT|FLUTTER_ROOT|EMSDK|GHCUP_INSTALL_BASE_PREFIX)$/,
  /^(?:ASDF_(?:DIR|DATA_DIR)|MISE_DATA_DIR|HOMEBREW_(?:PREFIX|CELLAR|REPOSITORY)|NIX_PATH|NIX_PROFILES)$/,
];

/**
 * An environment without the variables of `inherited` that are not on the list, nor in `more`. What was
 * set for this program stays.
 */
export function listedVariables(
  env: NodeJS.ProcessEnv,
  inherited: NodeJS.ProcessEnv,
  more: readonly string[] = [],
): NodeJS.ProcessEnv {
  const isListed = (name: string): boolean =>
    more.includes(name) || LISTED.some((listed) => listed.test(name));
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => value !== inherited[name] || isListed(name)),
  );
}
