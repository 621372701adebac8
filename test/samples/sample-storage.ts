import { type ChildProcess, spawn } from "node:child_process";
import { mkdir } from "node:fs/promises";

import { SampleFolder } from "./sample-folder.ts";
import { markdownStorage } from "../../src/plugin/storage/markdown-storage.ts";
import type { Storage } from "../../src/plugin/storage/storage.ts";

/** A storage in a folder of its own for a test. */
export class SampleStorage implements AsyncDisposable {
  readonly storage: Storage;
  readonly folder: string;
  readonly #parent: SampleFolder;

  private constructor(parent: SampleFolder) {
    this.#parent = parent;
    this.folder = parent.path;
    this.storage = markdownStorage(parent.path);
  }

  static async open(): Promise<SampleStorage> {
    const parent = await SampleFolder.create();
    await mkdir(parent.path);
    return new SampleStorage(parent);
  }

  /** Starts another process, which knows the same storage as `storage`, and `increment`. */
  spawn(program: string): ChildProcess {
    const module = JSON.stringify(import.meta.url);
    const script = `
      const { increment, openSample } = await import(${module});
      const storage = openSample(${JSON.stringify(this.folder)});
      ${program}`;
    const args = ["--input-type=module", "-e", script];
    return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parent[Symbol.asyncDispose]();
  }
}

export function openSample(folder: string): Storage {
  return markdownStorage(folder);
}

/** Adds one to the number in a document, as often as it takes. */
export async function increment(storage: Storage, path: string): Promise<void> {
  for (;;) {
    const found = await storage.read(path);
    const content = Buffer.from(String(Number(Buffer.from(found?.content ?? [])) + 1));
    try {
      await storage.write(path, { content }, found?.version ?? 0);
      return;
    } catch (error) {
      if (!(error as Error).message.includes("version conflict")) throw error;
    }
  }
}
